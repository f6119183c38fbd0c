/** Which port of a pod a Service's port means (upstream: pkg/api/v1/pod/util.go FindPort). Pure. */
import type { Pod, ServicePort } from './generated/types.ts'

/** The number a Service's port has in this pod; undefined when the pod has no port of that name. */
export function targetPort(pod: Pod, port: ServicePort): number | undefined {
  const { targetPort: target, protocol = 'TCP' } = port
  if (typeof target !== 'string') return target || port.port
  const { containers = [], initContainers = [] } = pod.spec ?? {}
  const sidecars = initContainers.filter(({ restartPolicy }) => restartPolicy === 'Always')
  for (const container of [...containers, ...sidecars]) {
    for (const { name, containerPort, protocol: own = 'TCP' } of container.ports ?? [])
      if (name === target && own === protocol) return containerPort
  }
  return undefined
}
