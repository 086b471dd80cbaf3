"""The simulated kube-scheduler: `Scheduler` is the controller, the modules beside it are its rules."""

from karpy.sim.scheduler.controller import Scheduler

__all__ = ["Scheduler"]
