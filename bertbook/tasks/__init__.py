"""What a reader calls with text: a model and its tokenizer behind one function."""

from bertbook.tasks.fill_mask import FillMask as FillMask
from bertbook.tasks.filled import Candidate as Candidate
from bertbook.tasks.filled import Combination as Combination
from bertbook.tasks.filled import Step as Step
from bertbook.tasks.pseudo_likelihood import Score as Score

__all__ = ["Candidate", "Combination", "FillMask", "Score", "Step"]
