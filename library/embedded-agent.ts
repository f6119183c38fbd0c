/** An agent that a scenario starts by hand in an embedded cluster. */
import type { AgentToStart, StartedAgent } from '../scenarios/engine/scenario-cluster.ts'
import type { HostThread } from '../embedded/host-thread.ts'

const shownLines = 15

/** Settles as the work does; rejects with the signal's reason when it aborts before. */
async function unlessAborted(work: Promise<unknown>, signal: AbortSignal): Promise<void> {
  const { promise, reject } = Promise.withResolvers<never>()
  const onAbort = (): void => reject(signal.reason as Error)
  signal.addEventListener('abort', onAbort, { once: true })
  try {
    signal.throwIfAborted()
    await Promise.race([work, promise])
  } finally {
    signal.removeEventListener('abort', onAbort)
    work.catch(() => {}) // it rejects when the agent ends
  }
}

export async function startAgent(
  { node: name, token, pin, server }: AgentToStart,
  { host, cluster }: { readonly host: HostThread; readonly cluster: number },
): Promise<StartedAgent> {
  await host.call('joinNode', { cluster, agent: { name, token, pin, server } })
  let hasLeft = false
  return {
    joined: ({ signal }) => unlessAborted(host.call('agentJoined', { cluster, name }), signal),
    logged: ({ source: pattern }, signal) =>
      unlessAborted(host.call('agentLogged', { cluster, name, pattern }), signal),
    lines: async () => {
      const lines = await host.call('agentLines', { cluster, name })
      return lines.slice(-shownLines)
    },
    stop: async () => {
      if (hasLeft) return
      hasLeft = true
      await host.call('agentLeaves', { cluster, name })
    },
  }
}
