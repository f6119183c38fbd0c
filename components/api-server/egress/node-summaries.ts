/** node-summaries: what nodes and their pods use, from the agents' `/stats/summary`, for the metrics group. */
import type { IncomingMessage } from 'node:http'
import type { Clock } from '../../component-base/clock.ts'
import type { Log } from '../../component-base/log.ts'
import type { KubeObject } from '../../machinery/objects/object.ts'
import type { Resource } from '../../machinery/objects/resource.ts'
import type { ObjectReader } from '../watch-cache/object-reader.ts'
import { getFromAgent, nodeAddress, type NodeAgentCredentials } from './node-agents.ts'
import { readNodeSummary, type NodeSummary } from './node-summary.ts'

/** Summaries by the names of their nodes; without those whose agent does not answer. */
export type NodeSummaries = ReadonlyMap<string, NodeSummary>

/** How long an answer is used: half of the time that an agent averages CPU over, so that two answers never share all of it. */
const freshMs = 5000
const timeoutMs = 5000
const atOnce = 32
/** A node with 500 pods of ten containers stays below. */
const mostBytes = 8 * 1024 * 1024

async function bodyOf(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > mostBytes) throw new Error(`the summary has more than ${mostBytes} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}

export class NodeSummaryReader {
  readonly #nodes: Resource
  readonly #reader: Pick<ObjectReader, 'list'>
  readonly #credentials: NodeAgentCredentials
  readonly #clock: Clock
  readonly #log: Log
  #last: { readonly summaries: Promise<NodeSummaries>; endedMs: number | undefined } | undefined

  constructor(options: {
    nodes: Resource
    reader: Pick<ObjectReader, 'list'>
    credentials: NodeAgentCredentials
    clock: Clock
    log: Log
  }) {
    this.#nodes = options.nodes
    this.#reader = options.reader
    this.#credentials = options.credentials
    this.#clock = options.clock
    this.#log = options.log
  }

  /** Asks all agents, unless they are being asked or answered within the last seconds. Agents are asked only when a client asks. */
  read(): Promise<NodeSummaries> {
    const { summaries, endedMs } = this.#last ?? {}
    const isFresh = endedMs === undefined || Math.abs(this.#clock.now() - endedMs) < freshMs
    if (summaries !== undefined && isFresh) return summaries
    const next = { summaries: this.#readAll(), endedMs: undefined as number | undefined }
    this.#last = next
    // A silent agent takes time, which must not use up that of the answers.
    void next.summaries.then(() => {
      next.endedMs = this.#clock.now()
    })
    return next.summaries
  }

  async #readAll(): Promise<NodeSummaries> {
    const waiting = [...this.#reader.list(this.#nodes)]
    const found = new Map<string, NodeSummary>()
    const work = async (): Promise<void> => {
      for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
        const name = node.metadata.name ?? ''
        try {
          found.set(name, await this.#readOne(name, node))
        } catch (error) {
          this.#log.debug('no summary from the node', { node: name, why: String(error) })
        }
      }
    }
    await Promise.all(Array.from({ length: atOnce }, work))
    return found
  }

  async #readOne(name: string, node: KubeObject): Promise<NodeSummary> {
    // One agent may stand for many nodes.
    const path = `/nodes/${encodeURIComponent(name)}/stats/summary?only_cpu_and_memory=true`
    const signal = AbortSignal.timeout(timeoutMs)
    const target = { ...nodeAddress(node), path }
    const response = await getFromAgent(target, this.#credentials, { signal, isTrusting: false })
    const body = await bodyOf(response)
    if (response.statusCode !== 200)
      throw new Error(`${response.statusCode}: ${body.slice(0, 200)}`)
    return readNodeSummary(body)
  }
}
