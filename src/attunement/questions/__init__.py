"""What a judge reads: units x items become the exact text that is sent, in one of two layouts."""

from attunement.questions.questionnaire import Layout, Question, Questionnaire, Rendered

__all__ = ["Layout", "Question", "Questionnaire", "Rendered"]
