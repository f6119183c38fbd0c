/** Columns of what nodes and pods use (upstream: the metrics server's pkg/api/table.go). */
import type { KubeObject } from '../../machinery/objects/object.ts'
import { addQuantities } from '../../machinery/values/quantity.ts'
import { column, nameColumn, tablePrinter } from './table-printer.ts'

type Usage = Readonly<Record<string, string>>

/** Of a node, or of all containers of a pod. */
function used(object: KubeObject, resource: string): string {
  const { usage, containers = [] } = object as { usage?: Usage; containers?: { usage: Usage }[] }
  const amounts = usage === undefined ? containers.map((one) => one.usage) : [usage]
  return amounts.reduce((sum, one) => addQuantities(sum, one[resource] ?? '0'), '0')
}

const printer = tablePrinter(
  nameColumn,
  column(['cpu', 'CPU in use.'], (object) => used(object, 'cpu'), { format: 'quantity' }),
  column(['memory', 'Memory in use.'], (object) => used(object, 'memory'), { format: 'quantity' }),
  column(['Window', 'The time that CPU is averaged over.'], (object) => object['window'] ?? '', {
    format: 'duration',
  }),
)

export const metricsPrinters = { nodes: printer, pods: printer }
