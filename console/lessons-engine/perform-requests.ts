/** Performing a step with the viewer's own rights: steps whose action only creates, patches and deletes objects. */
import { ClusterError } from '../../cluster/cluster-error.ts'
import type { Client } from '../../components/client/client.ts'
import type { Clock } from '../../components/component-base/clock.ts'
import type { ScenarioCluster } from '../../scenarios/engine/scenario-cluster.ts'
import type { LessonSession } from './lesson-session.ts'
import type { LessonStep } from './lesson.ts'
import { performAction, type Performance } from './perform-step.ts'

const requestKinds = new Set(['create', 'patch', 'delete'])

/** Whether requests of the viewer are enough. A step that acts as another user, or on processes, needs more. */
export function needsRequestsAlone({ action = [] }: LessonStep): boolean {
  const isRequest = ({ kind, params }: (typeof action)[number]): boolean =>
    requestKinds.has(kind.name) && (params as { readonly as?: unknown } | null)?.as === undefined
  return action.length > 0 && action.every(isRequest)
}

/** A cluster of which only its API server is at hand. */
function requestsAlone(client: Client): ScenarioCluster {
  const missing = (what: string): never => {
    throw new ClusterError('usage', `the console has no ${what} for a step of a lesson`)
  }
  const noLab = async (): Promise<never> => missing('lab')
  return {
    client,
    server: client.rest.server,
    dialect: client.dialect,
    caHash: '',
    id: '',
    clientAs: () => missing('other identity'),
    addNode: () => missing('supervisor'),
    removeNode: () => missing('supervisor'),
    createToken: () => missing('supervisor'),
    act: () => missing('supervisor'),
    get files() {
      return missing('state directory')
    },
    startAgent: () => missing('supervisor'),
    agentCredentials: () => missing('state directory'),
    agentFolder: () => missing('state directory'),
    lab: {
      time: {
        state: noLab,
        pause: noLab,
        resume: noLab,
        speed: noLab,
        advance: noLab,
        step: noLab,
        settle: noLab,
      },
      faults: { add: noLab, heal: noLab, list: async () => [] },
      chaos: { begin: noLab, over: noLab, stop: noLab },
    },
  }
}

/** Call it for steps that need requests alone. Rejects with `signal.reason`. */
export async function performRequests(
  index: number,
  options: {
    readonly session: LessonSession
    readonly client: Client
    readonly clock: Clock
    readonly signal: AbortSignal
  },
): Promise<Performance> {
  const { client, ...rest } = options
  return await performAction(index, { ...rest, cluster: requestsAlone(client) })
}
