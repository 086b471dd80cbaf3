"""Why does this pod wait, or go there? Each constraint is dropped or eased by itself, and the scheduler is asked again."""
