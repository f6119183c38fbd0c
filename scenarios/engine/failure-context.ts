/** Failure context: who wrote the objects that a failed check was about, and which faults were active. Never rejects. */
import { historyText } from '../../cluster/history/history-text.ts'
import { readHistory } from '../../cluster/history/read-history.ts'
import { firedText } from '../../cluster/lab/describe-fault.ts'
import type { FaultStatus } from '../../cluster/lab/fault-spec.ts'
import type { Client } from '../../components/client/client.ts'
import type { Clock } from '../../components/component-base/clock.ts'
import { messageOf } from '../../components/component-base/log.ts'
import { AssertionFailure } from './assertion-failure.ts'
import type { CheckedObject } from './assertion-failure.ts'
import { NestedFailure, SeveralFailures } from './failure-lines.ts'
import type { ScenarioCluster } from './scenario-cluster.ts'

const mostObjects = 3
const mostLines = 30
/** A server that is away has no history. */
const patienceMs = 5000

/** The objects of every check in a failure, each once. */
function objectsOf(error: unknown): CheckedObject[] {
  if (error instanceof AssertionFailure) return [...error.about]
  if (error instanceof NestedFailure) return objectsOf(error.cause)
  return error instanceof SeveralFailures ? error.failures.flatMap(objectsOf) : []
}

async function timelineOf(
  client: Client,
  { resource, namespace, name }: CheckedObject,
): Promise<string[]> {
  const history = await readHistory(client, resource, { namespace, name })
  if (history === undefined) return []
  const lines = historyText(history, false)
    .split('\n')
    .filter((line) => line !== '')
  if (lines.length <= mostLines) return lines
  const [head = '', ...rest] = lines
  const left = rest.length - mostLines
  return [head, `... ${left} lines left out ...`, ...rest.slice(-mostLines)]
}

/** Gives up after a while. */
async function soon<T>(clock: Clock, work: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>()
  const why = new Error(`no answer after ${patienceMs / 1000} s`)
  const cancel = clock.after(patienceMs, () => late.reject(why))
  try {
    return await Promise.race([work, late.promise])
  } finally {
    cancel()
  }
}

function faultText({ name, spec, fired }: FaultStatus): string {
  return `${name} (${spec.kind}): ${firedText(fired)}, ${JSON.stringify(spec.fault)}`
}

interface Surroundings {
  readonly cluster: ScenarioCluster
  readonly clock: Clock
}

/** A part of a report; none where there is nothing to say. */
async function part(
  title: string,
  { clock, work }: { readonly clock: Clock; readonly work: () => Promise<string[]> },
): Promise<string[]> {
  try {
    const lines = await soon(clock, work())
    return lines.length === 0 ? [] : [`${title}:`, ...lines.map((line) => `  ${line}`)]
  } catch (failure) {
    return [`${title}: cannot be read: ${messageOf(failure)}`]
  }
}

/** Which faults hold, for a report. Never rejects. */
export async function activeFaultLines(
  title: string,
  { cluster, clock }: Surroundings,
): Promise<string[]> {
  const work = async (): Promise<string[]> => {
    const all = await cluster.lab.faults.list()
    return all.filter(({ ended }) => ended === undefined).map(faultText)
  }
  return await part(title, { clock, work })
}

/** Lines for the report of a failure; none where there is nothing to say. */
export async function failureContext(
  error: unknown,
  { cluster, clock }: Surroundings,
): Promise<string[]> {
  const objects = new Map(
    objectsOf(error).map((one) => [`${one.resource.plural} ${one.namespace}/${one.name}`, one]),
  )
  const timelines = [...objects.values()]
    .slice(0, mostObjects)
    .map((one) => part('who wrote it', { clock, work: () => timelineOf(cluster.client, one) }))
  const faults = activeFaultLines('active faults', { cluster, clock })
  return (await Promise.all([...timelines, faults])).flat()
}
