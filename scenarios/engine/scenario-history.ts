/** ScenarioHistory: what has happened to selected objects since the scenario began, for the steps that look back. */
import type { Client } from '../../components/client/client.ts'
import type { Clock } from '../../components/component-base/clock.ts'
import type { Resources } from '../../components/api/resources.ts'
import type { FindResource } from './find-resource.ts'
import { createObjectHistory } from './object-history.ts'
import { listOptions } from './selection.ts'
import type { RecordedSelection } from './selection.ts'
import { SelectionRecord } from './selection-record.ts'
import type { Moment, RecordedHistory } from './selection-record.ts'
import { ScenarioStep } from './step.ts'

export interface ScenarioHistory extends RecordedHistory {
  /** Begins the records of the steps that look back, where their selections have no variables; notes the revision for the others. */
  begin(steps: readonly ScenarioStep[]): Promise<void>
  end(): void
}

/** Every step inside a value, those inside of steps too. */
export function stepsIn(value: unknown): ScenarioStep[] {
  if (value instanceof ScenarioStep) return [value, ...stepsIn(value.params)]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(stepsIn) : []
}

export interface HistoryOptions {
  readonly client: Client
  readonly resources: Resources
  readonly findResource: FindResource
  readonly clock: Clock
  /** Of selections that name none. */
  readonly namespace: string
}

export function createScenarioHistory(options: HistoryOptions): ScenarioHistory {
  const { client, resources, findResource, clock } = options
  const over = new AbortController()
  const records = new Map<string, SelectionRecord>()
  let since: string | undefined
  const recordOf = async (selection: RecordedSelection): Promise<SelectionRecord> => {
    const resource = await findResource(selection)
    const narrowed = listOptions(selection, {
      isNamespaced: resource.namespaced,
      fallback: options.namespace,
    })
    const key = JSON.stringify([resource.group, resource.plural, narrowed])
    const objects = client.resource(resource)
    const { signal } = over
    const record =
      records.get(key) ??
      new SelectionRecord({ client: objects, selection: narrowed, clock, signal, since })
    records.set(key, record)
    await record.begun
    return record
  }
  return {
    begin: async (steps) => {
      const selections = stepsIn(steps).flatMap(
        ({ kind, params }) => kind.looksBack?.(params) ?? [],
      )
      if (selections.length === 0) return
      const list = await client.resource(resources.namespaces).list({ limit: 1 }, over.signal)
      since = list.metadata.resourceVersion
      const plain = selections.filter((one) => !JSON.stringify(one).includes('${'))
      // A kind that is not defined yet is found when its step runs.
      await Promise.allSettled(plain.map(recordOf))
    },
    recordOf,
    end: () => over.abort(new Error('the scenario is over')),
  }
}

/** The moments as the lines of a report. */
export function momentLines(moments: readonly Moment[]): string[] {
  const first = moments[0]
  if (first === undefined) return ['nothing']
  let nowMs = first.atMs
  const history = createObjectHistory(() => nowMs)
  history.listed(moments.filter(({ type }) => type === 'there').map(({ object }) => object))
  const events = { created: 'ADDED', changed: 'MODIFIED', deleted: 'DELETED' } as const
  for (const { type, object, atMs } of moments) {
    nowMs = atMs
    if (type !== 'there') history.seen({ type: events[type], object })
  }
  return history.lines()
}
