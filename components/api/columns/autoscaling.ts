/** Columns of autoscalers, in either of their versions, and of scales. */
import type { KubeObject } from '../../machinery/objects/object.ts'
import type { TablePrinter } from '../../machinery/objects/table-printer.ts'
import { ageColumn, column, nameColumn, tablePrinter } from './table-printer.ts'

interface MetricValue {
  readonly value?: string
  readonly averageValue?: string
  readonly averageUtilization?: number
}

interface Metric {
  readonly type?: string
  readonly external?: MetricBody
  readonly pods?: MetricBody
  readonly object?: MetricBody
  readonly resource?: MetricBody
  readonly containerResource?: MetricBody
}

interface MetricBody {
  readonly name?: string
  readonly target?: MetricValue
  readonly current?: MetricValue
}

const unknown = '<unknown>'

function percent(value: number | undefined): string | undefined {
  return value === undefined ? undefined : `${value}%`
}

function metricText(metric: Metric, state: Metric | undefined): string {
  switch (metric.type) {
    case 'External':
    case 'Object': {
      const part = metric.type === 'External' ? 'external' : 'object'
      const target = metric[part]?.target
      const current = state?.[part]?.current
      return target?.averageValue === undefined
        ? `${current?.value ?? (current === undefined ? unknown : '0')}/${target?.value ?? '0'}`
        : `${current?.averageValue ?? unknown}/${target.averageValue} (avg)`
    }
    case 'Pods':
      return `${state?.pods?.current?.averageValue ?? unknown}/${metric.pods?.target?.averageValue ?? '0'}`
    case 'Resource':
    case 'ContainerResource': {
      const part = metric.type === 'Resource' ? 'resource' : 'containerResource'
      const target = metric[part]?.target
      const current = state?.[part]?.current
      const texts =
        target?.averageValue === undefined
          ? [percent(current?.averageUtilization), percent(target?.averageUtilization) ?? '<auto>']
          : [current?.averageValue, target.averageValue]
      return `${metric[part]?.name ?? ''}: ${texts[0] ?? unknown}/${texts[1]}`
    }
    default:
      return '<unknown type>'
  }
}

/** The metrics of a v1 object in v2's form. */
function cpuMetric(object: KubeObject): { wanted: Metric[]; current: Metric[] } {
  const target = object['spec']?.targetCPUUtilizationPercentage
  if (target === undefined) return { wanted: [], current: [] }
  const current = object['status']?.currentCPUUtilizationPercentage
  return {
    wanted: [
      { type: 'Resource', resource: { name: 'cpu', target: { averageUtilization: target } } },
    ],
    current:
      current === undefined ? [] : [{ resource: { current: { averageUtilization: current } } }],
  }
}

const maxMetrics = 2

function targetsOf(object: KubeObject): string {
  const old = cpuMetric(object)
  const wanted: readonly Metric[] = object['spec']?.metrics ?? old.wanted
  const current: readonly Metric[] = object['status']?.currentMetrics ?? old.current
  if (wanted.length === 0) return '<none>'
  const texts = wanted.map((metric, index) => metricText(metric, current[index]))
  const shown = texts.slice(0, maxMetrics).join(', ')
  return texts.length > maxMetrics ? `${shown} + ${texts.length - maxMetrics} more...` : shown
}

export const autoscalingPrinters: Readonly<Record<string, TablePrinter>> = {
  horizontalpodautoscalers: tablePrinter(
    nameColumn,
    column(['Reference', 'What it scales.'], (object) => {
      const { kind = '', name = '' } = object['spec']?.scaleTargetRef ?? {}
      return `${kind}/${name}`
    }),
    column(['Targets', 'Metrics: now, and where they should be.'], targetsOf),
    column(['MinPods', 'Fewest pods it scales to.'], (object) =>
      String(object['spec']?.minReplicas ?? '<unset>'),
    ),
    column(['MaxPods', 'Most pods it scales to.'], (object) => object['spec']?.maxReplicas ?? 0),
    column(['Replicas', 'Pods there are.'], (object) => object['status']?.currentReplicas ?? 0),
    ageColumn,
  ),
}

/** What the `scale` sub-resource shows. */
export const scalePrinter = tablePrinter(
  column(['Name', nameColumn.column.description], nameColumn.cell),
  column(['Desired', 'Pods there should be.'], (scale) => scale['spec']?.replicas ?? 0, {
    type: 'integer',
  }),
  column(['Available', 'Pods there are.'], (scale) => scale['status']?.replicas ?? 0, {
    type: 'integer',
  }),
  ageColumn,
)
