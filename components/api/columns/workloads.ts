/** Columns of the apps and batch groups. */
import { ageOf, humanDuration } from '../../machinery/values/duration.ts'
import {
  formatLabelSelector,
  labelSelectorFrom,
  printLabelSelector,
} from '../../machinery/selectors/label-selector.ts'
import { controllerOf } from '../../machinery/objects/object.ts'
import type { KubeObject } from '../../machinery/objects/object.ts'
import type { TablePrinter } from '../../machinery/objects/table-printer.ts'
import {
  ageColumn,
  column,
  containerColumns,
  formatLabels,
  length,
  nameColumn,
  tablePrinter,
} from './table-printer.ts'
import type { FilledColumn } from './table-printer.ts'

const wide = true
const type = 'integer'

function statusNumber(name: string, description: string, field: string): FilledColumn {
  return column([name, description], (object) => object['status']?.[field] ?? 0, { type })
}

function readyOfDesired(object: KubeObject): string {
  return `${object['status']?.readyReplicas ?? 0}/${object['spec']?.replicas ?? 1}`
}

const readyColumn = column(['Ready', 'Pods that are ready, of those wanted.'], readyOfDesired)
const templateColumns = containerColumns((object) => object['spec']?.template)
const selectorColumn = column(
  ['Selector', 'Which pods belong to it.'],
  (object) => printLabelSelector(object['spec']?.selector),
  { wide },
)

function deploymentSelector(deployment: KubeObject): string {
  const { selector } = deployment['spec'] ?? {}
  if (selector === undefined) return ''
  try {
    return formatLabelSelector(labelSelectorFrom(selector))
  } catch {
    // A table shows that the object is wrong; it must not fail for it.
    return '<invalid>'
  }
}

function controllerName(object: KubeObject): string {
  const owner = controllerOf(object)
  if (owner === undefined) return '<none>'
  const slash = owner.apiVersion.indexOf('/')
  const group = slash < 0 ? '' : `.${owner.apiVersion.slice(0, slash)}`
  return `${`${owner.kind}${group}`.toLowerCase()}/${owner.name}`
}

export const appsPrinters: Readonly<Record<string, TablePrinter>> = {
  controllerrevisions: tablePrinter(
    nameColumn,
    column(['Controller', 'Owner of the revision.'], controllerName),
    column(['Revision', 'Its place in the history.'], (object) => object['revision'] ?? 0),
    ageColumn,
  ),
  daemonsets: tablePrinter(
    nameColumn,
    statusNumber('Desired', 'Nodes that should run it.', 'desiredNumberScheduled'),
    statusNumber('Current', 'Nodes that run it and should.', 'currentNumberScheduled'),
    statusNumber('Ready', 'Nodes on which it is ready.', 'numberReady'),
    statusNumber('Up-to-date', 'Nodes that run the current template.', 'updatedNumberScheduled'),
    statusNumber('Available', 'Nodes on which it is available.', 'numberAvailable'),
    column(['Node Selector', 'Labels of the nodes that run it.'], (object) =>
      formatLabels(object['spec']?.template?.spec?.nodeSelector),
    ),
    ageColumn,
    ...templateColumns,
    selectorColumn,
  ),
  deployments: tablePrinter(
    nameColumn,
    readyColumn,
    column(
      ['Up-to-date', 'Pods of the current template.'],
      (object) => object['status']?.updatedReplicas ?? 0,
    ),
    column(
      ['Available', 'Pods that are available.'],
      (object) => object['status']?.availableReplicas ?? 0,
    ),
    ageColumn,
    ...templateColumns,
    column(['Selector', 'Which pods belong to it.'], deploymentSelector, { wide }),
  ),
  replicasets: tablePrinter(
    nameColumn,
    column(['Desired', 'Pods there should be.'], (object) => object['spec']?.replicas ?? 1, {
      type,
    }),
    statusNumber('Current', 'Pods there are.', 'replicas'),
    statusNumber('Ready', 'Pods that are ready.', 'readyReplicas'),
    ageColumn,
    ...templateColumns,
    selectorColumn,
  ),
  statefulsets: tablePrinter(nameColumn, readyColumn, ageColumn, ...templateColumns),
}

function completions(job: KubeObject): string {
  const { completions: wanted, parallelism = 0 } = job['spec'] ?? {}
  const succeeded = job['status']?.succeeded ?? 0
  if (typeof wanted === 'number') return `${succeeded}/${wanted}`
  return parallelism > 1 ? `${succeeded}/1 of ${parallelism}` : `${succeeded}/1`
}

function jobDuration(job: KubeObject, nowMs: number): string {
  const start = Date.parse(job['status']?.startTime ?? '')
  if (Number.isNaN(start)) return ''
  const end = Date.parse(job['status']?.completionTime ?? '')
  return humanDuration((Number.isNaN(end) ? nowMs : end) - start)
}

function jobStatus(job: KubeObject): string {
  const holds = (condition: string) =>
    (job['status']?.conditions ?? []).find((each: { type?: string }) => each.type === condition)
      ?.status === 'True'
  if (holds('Complete')) return 'Complete'
  if (holds('Failed')) return 'Failed'
  if (job.metadata.deletionTimestamp !== undefined) return 'Terminating'
  if (holds('Suspended')) return 'Suspended'
  return holds('FailureTarget') ? 'FailureTarget' : 'Running'
}

function yesNo(value: unknown): string {
  return typeof value === 'boolean' ? (value ? 'True' : 'False') : '<unset>'
}

export const batchPrinters: Readonly<Record<string, TablePrinter>> = {
  cronjobs: tablePrinter(
    nameColumn,
    column(['Schedule', 'When it runs, in Cron format.'], (job) => job['spec']?.schedule ?? ''),
    column(['Timezone', 'Time zone of the schedule.'], (job) => job['spec']?.timeZone ?? '<none>'),
    column(['Suspend', 'Whether it is suspended.'], (job) => yesNo(job['spec']?.suspend), {
      type: 'boolean',
    }),
    column(['Active', 'Jobs of it that run.'], (job) => length(job['status']?.active), { type }),
    column(['Last Schedule', 'Time since it ran last.'], (job, nowMs) => {
      const last = job['status']?.lastScheduleTime
      return last === undefined || last === null ? '<none>' : ageOf(last, nowMs)
    }),
    ageColumn,
    ...containerColumns((job) => job['spec']?.jobTemplate?.spec?.template),
    column(
      ['Selector', 'Which pods belong to its jobs.'],
      (job) => printLabelSelector(job['spec']?.jobTemplate?.spec?.selector),
      { wide },
    ),
  ),
  jobs: tablePrinter(
    nameColumn,
    column(['Status', 'What has become of the job.'], jobStatus),
    column(['Completions', 'Pods that succeeded, of those wanted.'], completions),
    column(['Duration', 'Time it has run or took.'], jobDuration),
    ageColumn,
    ...templateColumns,
    selectorColumn,
  ),
}
