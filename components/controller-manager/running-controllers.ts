/**
 * Which controllers run in this process (upstream: component-base/metrics/prometheus/controllers). As upstream, only those report it
 * that a cloud controller manager could run in the place of this one: node IPAM and the load balancers of Services.
 */
import type { Metrics } from '../component-base/metrics.ts'

const manager = 'kube-controller-manager'

export interface RunningControllers {
  /** Shows the controller of that name as running until `run` has ended. Settles as `run` does. */
  during<T>(name: 'nodeipam' | 'service', run: () => Promise<T>): Promise<T>
}

export function declareRunningControllers(metrics: Metrics): RunningControllers {
  const running = metrics.gauge({
    name: 'running_managed_controllers',
    help: 'Indicates where instances of a controller are currently running',
    labels: ['name', 'manager'],
  })
  return {
    during: async (name, run) => {
      const own = running.with(name, manager)
      own.set(1)
      try {
        return await run()
      } finally {
        own.set(0)
      }
    },
  }
}
