/** join: starts a node agent with the given token, pin and server, and waits until it joins or logs the expected error. */
import {
  described,
  duration,
  object,
  optional,
  regularExpression,
  string,
} from '../../../cluster/shape.ts'
import { AssertionFailure } from '../assertion-failure.ts'
import { defineStep } from '../step.ts'

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
/** As for `expect`: a limit for agents that hang, not a promise of speed. */
const defaultWithinMs = 30_000

export const join = defineStep({
  name: 'join',
  summary: 'Start a node agent by hand: it joins, or fails as expected.',
  shape,
  title: ({ node, fails }) =>
    fails === undefined ? `node ${node} joins` : `node ${node} cannot join: ${fails}`,
  run: async (params, context) => {
    const { cluster, clock, onEnd } = context
    const { within = defaultWithinMs, fails, node, token, pin, server } = params
    const agent = await cluster.startAgent({ node, token, pin, server }, clock)
    const late = new AbortController()
    const cancel = clock.after(within, () => late.abort(new Error(`not within ${within / 1000} s`)))
    try {
      const signal = AbortSignal.any([context.signal, late.signal])
      if (fails === undefined) {
        onEnd(() => agent.stop())
        await agent.joined({ waitMs: within, signal })
        return
      }
      await agent.logged(new RegExp(fails), signal)
      await agent.stop()
    } catch (error) {
      const lines = await agent.lines()
      await agent.stop()
      throw new AssertionFailure({
        message:
          fails === undefined
            ? `node ${node} did not join`
            : 'the agent did not log the expected reason',
        expected: [
          fails === undefined ? 'a Ready node' : `a log line that matches ${fails}`,
          `within ${within / 1000} s`,
        ],
        actual: [error instanceof Error ? error.message : String(error), ...lines],
        cause: error,
      })
    } finally {
      cancel()
    }
  },
})
