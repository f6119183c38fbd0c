/** JudgedCluster: a cluster whose whole history is held against the invariants while tests use it. */
import type { Client } from '../../components/client/client.ts'
import type { ClusterWatch, ClusterWatchOptions } from '../../monitors/feed/cluster-watch.ts'
import { watchCluster } from '../../monitors/feed/cluster-watch.ts'
import type { InvariantOptions } from './invariants.ts'
import { createJudge, watchedKinds } from './invariants.ts'

export interface JudgedCluster {
  /** Judges what has happened so far; false when the server cannot be asked. Call it before the cluster goes. */
  settle(withinMs?: number): Promise<boolean>
  /** The violations found so far. */
  violations(): readonly string[]
  /** Judges the rest, and the state as it is left; ends the watches and gives the violations. */
  end(withinMs?: number): Promise<readonly string[]>
}

/** The client stays open. */
export function judgeCluster(
  client: Client,
  {
    mayAsk,
    ...options
  }: Omit<InvariantOptions, 'dialect'> & Required<Pick<ClusterWatchOptions, 'mayAsk'>>,
): JudgedCluster {
  const { dialect } = client
  const found: string[] = []
  let judge = createJudge({ dialect, ...options })
  const watch: ClusterWatch = watchCluster({
    client,
    kinds: watchedKinds(dialect),
    mayAsk,
    onChange: (change) => judge.take(change),
    onReset: () => {
      found.push(...judge.violations)
      judge = createJudge({ dialect, ...options })
    },
  })
  const violations = (): readonly string[] => [...found, ...judge.violations]
  return {
    settle: watch.settle,
    violations,
    end: async (withinMs) => {
      if (await watch.settle(withinMs)) judge.rest(Date.now())
      await watch[Symbol.asyncDispose]()
      return violations()
    },
  }
}
