"""WHETHER TO PAY: rules that decide if this round's reward is worth an evaluation."""
