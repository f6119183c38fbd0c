/** SimulatedFault: a fault of the cluster, or a stop of a controller. */
import type { PlannedFault } from '../cluster/lab/chaos/plan-chaos.ts'
import type { ControllerStop } from './controller-stops.ts'

export type SimulatedFault = PlannedFault | ControllerStop

export function isStop(fault: SimulatedFault): fault is ControllerStop {
  return 'controller' in fault
}
