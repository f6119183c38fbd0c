/** NodeMetrics: the node's `/metrics`, under upstream's names, as Prometheus text. */
import type { ServedNode } from './server.ts'

export function nodeMetrics(node: ServedNode): string {
  const pods = node.pods()
  const containers = pods.flatMap(({ status }) => status?.containerStatuses ?? [])
  const running = containers.filter(({ state }) => state?.running !== undefined).length
  const { user, system } = process.cpuUsage()
  const gauge = (name: string, help: string, value: string): string =>
    `# HELP ${name} ${help}\n# TYPE ${name} gauge\n${value}\n`
  return [
    gauge(
      'kubelet_node_name',
      "The node's name. The count is always 1.",
      `kubelet_node_name{node="${node.name}"} 1`,
    ),
    gauge(
      'kubelet_running_pods',
      'Number of pods on the node.',
      `kubelet_running_pods ${pods.length}`,
    ),
    gauge(
      'kubelet_running_containers',
      'Number of containers currently running.',
      `kubelet_running_containers{container_state="running"} ${running}`,
    ),
    gauge(
      'process_resident_memory_bytes',
      'Resident memory size in bytes.',
      `process_resident_memory_bytes ${process.memoryUsage.rss()}`,
    ),
    '# HELP process_cpu_seconds_total Total user and system CPU time spent in seconds.\n' +
      '# TYPE process_cpu_seconds_total counter\n' +
      `process_cpu_seconds_total ${(user + system) / 1e6}\n`,
  ].join('')
}
