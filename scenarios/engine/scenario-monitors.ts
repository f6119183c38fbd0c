/** scenarioMonitors: the monitors that a scenario switches on for all of its steps. A violation fails the scenario. */
import { ClusterError } from '../../cluster/cluster-error.ts'
import type { Cluster } from '../../cluster/cluster.ts'
import { historyText } from '../../cluster/history/history-text.ts'
import { readHistory } from '../../cluster/history/read-history.ts'
import { resourceNamed } from '../../cluster/why/named-resource.ts'
import type { Client } from '../../components/client/client.ts'
import type { Clock } from '../../components/component-base/clock.ts'
import { messageOf } from '../../components/component-base/log.ts'
import { builtInMonitors } from '../../monitors/built-in.ts'
import { chooseMonitors } from '../../monitors/choose-monitors.ts'
import type { Violation } from '../../monitors/monitor.ts'
import { runMonitors, type MonitorRun } from '../../monitors/run-monitors.ts'
import { violationLines } from '../../monitors/violation-text.ts'
import { choice, described, either, list, object, optional, string } from '../../cluster/shape.ts'
import type { ShapeType } from '../../cluster/shape.ts'

const expressionMonitor = object({
  name: described('In reports. Default: the plural of the kind and a number.', optional(string)),
  kind: described('Any name of the kind, such as `deployments` or `widgets.example.com`.', string),
  expression: described(
    'CEL that holds for every state of the objects; its variables are `object`, `oldObject` and `now`.',
    string,
  ),
})

/** `all`, or a list of names and expressions. */
export const monitorsShape = either(
  choice('all'),
  list(either(choice(...builtInMonitors.map(({ name }) => name)), expressionMonitor)),
)

export type ScenarioMonitors = ShapeType<typeof monitorsShape>

/** Further violations are counted. */
const mostTold = 10
/** Their objects' histories are told. */
const mostStories = 3

async function storyLines(client: Client, { object: of }: Violation): Promise<string[]> {
  const { apiVersion, kind, namespace = '', name } = of
  const [version = '', group] = apiVersion.split('/').toReversed()
  try {
    const word = group === undefined ? kind : `${kind}.${version}.${group}`
    const resource = await resourceNamed(client, word)
    const history = resource && (await readHistory(client, resource, { namespace, name }))
    return history === undefined ? [] : historyText(history, true).trimEnd().split('\n')
  } catch (error) {
    return [`the history of ${kind} ${name} cannot be read: ${messageOf(error)}`]
  }
}

async function reportOf(client: Client, violations: readonly Violation[]): Promise<string[]> {
  const lines: string[] = []
  for (const [at, violation] of violations.slice(0, mostTold).entries()) {
    const [first = '', ...more] = violationLines(violation)
    lines.push(`monitor ${first}`, ...more)
    if (at < mostStories)
      lines.push(...(await storyLines(client, violation)).map((one) => `  ${one}`))
  }
  const left = violations.length - mostTold
  return left > 0 ? [...lines, `and ${left} more violations`] : lines
}

/**
 * Monitors the cluster until the result is called, which gives the lines of a report, none without violations. A monitor that cannot be used
 * is in the report, too.
 */
export async function startScenarioMonitors(
  monitors: ScenarioMonitors,
  { cluster, clock }: { readonly cluster: Pick<Cluster, 'client'>; readonly clock: Clock },
): Promise<() => Promise<string[]>> {
  const { client } = cluster
  const chosen = typeof monitors === 'string' ? [] : monitors
  let run: MonitorRun
  try {
    // Its steps may create the kind.
    const known = await chooseMonitors(chosen, client, { mayCome: true })
    run = await runMonitors({ client, clock, monitors: known })
  } catch (error) {
    const hint = error instanceof ClusterError ? (error.hint ?? '') : ''
    const lines = [`monitors: ${messageOf(error)}`, ...(hint === '' ? [] : [hint])]
    return () => Promise.resolve(lines)
  }
  return async () => {
    await run.stop()
    return await reportOf(client, run.violations)
  }
}
