/** join: starts a node agent with the given token, pin and server, and waits until it joins or logs the expected error. */
import { mkdirSync } from 'node:fs'
import { join as joinPath } from 'node:path'
import { startChild } from '../../../cluster/supervisor/child-process.ts'
import type { Child } from '../../../cluster/supervisor/child-process.ts'
import { lastLines } from '../../../cluster/log-tail.ts'
import { planNode } from '../../../cluster/plan/plan.ts'
import { writeTokenFile } from '../../../cluster/plan/prepare.ts'
import { clusterMarker } from '../../../cluster/state/process-identity.ts'
import { builtPrograms } from '../../../cluster/plan/programs.ts'
import { logOf } from '../../../cluster/state/state-dir.ts'
import { described, duration, object, optional, regularExpression, string } from '../shape.ts'
import type { ShapeType } from '../shape.ts'
import { AssertionFailure } from '../assertion-failure.ts'
import { defineStep } from '../step.ts'
import type { StepContext } from '../step.ts'
import { untilLogged } from '../until-logged.ts'

const shape = object({
  node: described('Name of the node.', string),
  token: described('The bootstrap token.', optional(string)),
  pin: described("Hash of the CA, `sha256:HEX`. Default: the cluster's.", optional(string)),
  server: described("URL of the API server. Default: the cluster's.", optional(string)),
  fails: described(
    'The agent must not join; its log must match this regular expression.',
    optional(regularExpression),
  ),
  within: described('Deadline. Default: 30s.', optional(duration)),
})
type Params = ShapeType<typeof shape>

/** As for `expect`: a limit for agents that hang, not a promise of speed. */
const defaultWithinMs = 30_000

async function startAgent(
  params: Params,
  { cluster, clock }: StepContext,
): Promise<{ child: Child; logFile: string }> {
  const { paths } = cluster
  const config = { ...cluster.config, caHash: params.pin ?? cluster.config.caHash }
  const spec = planNode({ name: params.node }, config, paths)
  for (const folder of spec.folders) mkdirSync(folder, { recursive: true, mode: 0o700 })
  for (const file of spec.files) {
    if (file.kind === 'bootstrap-token') await writeTokenFile(file.path, params.token)
  }
  const args = spec.args.map((arg) =>
    params.server !== undefined && arg.startsWith('--server=') ? `--server=${params.server}` : arg,
  )
  const logFile = logOf(paths, params.node)
  const child = startChild(
    {
      name: params.node,
      command: process.execPath,
      args: [...spec.nodeOptions, joinPath(builtPrograms().folder, `${spec.program}.js`), ...args],
      environment: { [clusterMarker]: config.id },
      logFile,
      readyTimeoutMs: 60_000,
      stopTimeoutMs: 5000,
    },
    clock,
  )
  return { child, logFile }
}

export const join = defineStep({
  name: 'join',
  summary: 'Start a node agent by hand: it joins, or fails as expected.',
  shape,
  title: ({ node, fails }) =>
    fails === undefined ? `node ${node} joins` : `node ${node} cannot join: ${fails}`,
  run: async (params, context) => {
    const { clock, onEnd, cluster } = context
    const { within = defaultWithinMs, fails, node } = params
    const { child, logFile } = await startAgent(params, context)
    const stopped = async (): Promise<void> => void (await child.stop())
    const late = new AbortController()
    const cancel = clock.after(within, () => late.abort(new Error(`not within ${within / 1000} s`)))
    try {
      if (fails === undefined) {
        onEnd(stopped)
        await cluster.waitForNodes([{ name: node }], { waitMs: within })
        return
      }
      const signal = AbortSignal.any([context.signal, late.signal])
      await untilLogged(logFile, new RegExp(fails), signal)
      await stopped()
    } catch (error) {
      await stopped()
      throw new AssertionFailure({
        message:
          fails === undefined
            ? `node ${node} did not join`
            : 'the agent did not log the expected reason',
        expected: [
          fails === undefined ? 'a Ready node' : `a log line that matches ${fails}`,
          `within ${within / 1000} s`,
        ],
        actual: [error instanceof Error ? error.message : String(error), ...lastLines(logFile, 15)],
        cause: error,
      })
    } finally {
      cancel()
    }
  },
})
