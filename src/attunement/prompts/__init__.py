"""What a judge reads: units x items become the exact text that is sent, in one of two layouts."""

from attunement.prompts.prompt import Ask, Layout, Question, Questionnaire, Rendered

__all__ = ["Ask", "Layout", "Question", "Questionnaire", "Rendered"]
