/** monitorCluster: monitors on a cluster of this process, over a connection of their own. */
import { ClusterError } from '../cluster/cluster-error.ts'
import { chooseMonitors } from '../monitors/choose-monitors.ts'
import { runMonitors, type MonitorRun } from '../monitors/run-monitors.ts'
import type { ClusterForm } from './cluster-form.ts'
import type { Connection } from './connection.ts'
import { OptionError } from './option-error.ts'
import type { ClusterMonitor, MonitorOptions, MonitorSummary } from './types.ts'

const noAnswer = 'the API server did not answer in time'

async function started(
  form: ClusterForm,
  { client }: Connection,
  { monitors = [], onViolation }: MonitorOptions,
): Promise<MonitorRun> {
  try {
    return await runMonitors({
      client,
      clock: form.clock,
      monitors: await chooseMonitors(monitors, client),
      onViolation,
    })
  } catch (error) {
    client.close()
    if (!(error instanceof ClusterError) || error.kind !== 'usage') throw error
    const hint = error.hint === undefined ? '' : ` (${error.hint})`
    throw new OptionError([`monitor: ${error.message}${hint}`])
  }
}

/** A monitor, and what its cluster does with it. */
export interface HeldMonitor {
  readonly monitor: ClusterMonitor
  /** The cluster went back to another state. */
  restart(): void
}

/** `onStop` is called once. The connection ends with the monitors. */
export async function monitorCluster(
  form: ClusterForm,
  connection: Connection,
  options: MonitorOptions & { readonly onStop: () => void },
): Promise<HeldMonitor> {
  const run = await started(form, connection, options)
  const end = async (): Promise<MonitorSummary> => {
    try {
      return await run.stop()
    } finally {
      connection.client.close()
      options.onStop()
    }
  }
  let stopped: Promise<MonitorSummary> | undefined
  const stop = (): Promise<MonitorSummary> => (stopped ??= end())
  const monitor: ClusterMonitor = {
    violations: run.violations,
    settle: async () => {
      form.fault().throwIfAborted()
      if (await run.settle()) return run.violations
      throw new Error(`monitor: ${noAnswer}`)
    },
    stop,
    [Symbol.asyncDispose]: async () => void (await stop()),
  }
  return { monitor, restart: () => run.restart() }
}
