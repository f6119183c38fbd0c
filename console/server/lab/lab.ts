/** Lab: what the console does to the processes of a cluster on this machine, for its page. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { openCluster, type Cluster } from '../../../cluster/cluster.ts'
import type { Client } from '../../../components/client/client.ts'
import {
  methodNotAllowed,
  StatusError,
} from '../../../components/machinery/objects/status-error.ts'
import { actOnComponent } from './component-action.ts'
import { readJoinFacts } from './join-facts.ts'
import { answerError } from '../answer-error.ts'
import { callLab } from './lab-calls.ts'
import { sendSaved } from './send-saved.ts'
import { createScenarioRuns, listScenarios } from './scenario-runs.ts'
import { explainScheduling } from './explain-scheduling.ts'

/** Below it lies the Lab; the guard admits the page alone. */
export const labPrefix = '/lab/'

/** Where the cluster's state directory is. */
export interface LabPlace {
  readonly name: string
  readonly stateRoot: string
}

export interface Lab {
  /** Answers a request below the prefix; it never rejects. */
  handle(request: IncomingMessage, response: ServerResponse): Promise<void>
  /** Stops a scenario that runs; resolves when its cluster is gone. */
  close(): Promise<void>
}

interface LabOptions {
  /** Absent: every answer says that there is no supervisor. */
  readonly place: LabPlace | undefined
  /** With the viewer's identity. */
  readonly client: Client
  /** Errors that are no answer to the page's request. */
  readonly onFault: (error: unknown) => void
}

function answer(response: ServerResponse, value: unknown): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value))
}

/** `/lab/components/node-1/kill` -> `['components', 'node-1', 'kill']`. */
function partsOf(url: string): { parts: string[]; query: URLSearchParams } {
  const { pathname, searchParams } = new URL(url, 'http://console')
  try {
    const parts = pathname.slice(labPrefix.length).split('/').map(decodeURIComponent)
    return { parts, query: searchParams }
  } catch (error) {
    throw new StatusError('BadRequest', 'invalid path', { cause: error })
  }
}

export function createLab({ place, client, onFault }: LabOptions): Lab {
  const { clock } = client
  const runs = createScenarioRuns(clock)
  const withCluster = async <T>(
    { name, stateRoot }: LabPlace,
    work: (cluster: Cluster) => Promise<T>,
  ): Promise<T> => {
    const cluster = await openCluster({ name, stateRoot, clock })
    try {
      return await work(cluster)
    } finally {
      cluster.disconnect()
    }
  }
  const route = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { parts, query } = partsOf(request.url ?? '')
    const [what, first = '', second = '', ...more] = parts
    if (what === 'join' && parts.length === 1) {
      answer(response, await readJoinFacts(client))
      return
    }
    if (place === undefined) {
      throw new StatusError('Forbidden', 'this console has no supervisor of a cluster to control')
    }
    if (more.length > 0) throw new StatusError('NotFound', 'not found')
    const expect = (method: string): void => {
      if (request.method !== method) throw methodNotAllowed()
    }
    if (what === 'components' && second !== '') {
      expect('POST')
      await withCluster(place, (cluster) => actOnComponent(cluster, first, second))
      answer(response, {})
    } else if (what === 'saved' && first === '') {
      expect('GET')
      await sendSaved({ client, ...place, query }, response)
    } else if (what === 'scenarios' && first === '') {
      expect('GET')
      answer(response, listScenarios())
    } else if (what === 'scenarios' && second === '') {
      expect('POST')
      const on = query.get('on') === 'this' ? place.name : undefined
      await runs.run({ name: first, stateRoot: place.stateRoot, clusterName: on }, response)
    } else if (what === 'scheduling' && second !== '') {
      expect('GET')
      answer(response, await withCluster(place, (one) => explainScheduling(one, first, second)))
    } else if ((what === 'time' && first === '') || (what === 'faults' && second === '')) {
      answer(response, await callLab(place, { request, response, parts }))
    } else throw new StatusError('NotFound', 'not found')
  }
  return {
    handle: async (request, response) => {
      try {
        await route(request, response)
      } catch (error) {
        answerError(response, { error, onFault })
      }
    },
    close: runs.close,
  }
}
