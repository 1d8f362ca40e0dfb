"""Attunement evaluates empathetic and therapeutic dialogue.

People and LLM judges answer the same questions on the same versioned instruments; every answer is checked against
the transcript; a safety gate fails closed; and the tool says how far each score can be trusted.
"""

__version__ = "0.1.0"
