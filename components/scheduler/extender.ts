/**
 * Extender: a webhook that takes part in the choice of nodes, in preemption and in binding (upstream: extender.go; the messages are
 * those of kube-scheduler/extender/v1, whose fields have Go's names).
 */
import { readFileSync } from 'node:fs'
import { Agent, request as httpsRequest } from 'node:https'
import { request as httpRequest } from '../component-base/node-http.ts'
import type { Node } from '../api/generated/types.ts'
import type { ExtenderSettings, ExtenderTls } from './configuration/extender-settings.ts'
import type { PodInfo } from './pod-info.ts'
import type { NodeInfo } from './snapshot.ts'

/** Which nodes an extender leaves, and why it rejects the others. */
export interface ExtenderVerdict {
  readonly nodes: NodeInfo[]
  readonly failed: ReadonlyMap<string, string>
  /** Of these, no eviction helps. */
  readonly unresolvable: ReadonlyMap<string, string>
}

/** The victims on each node, as an extender sees them. */
export type VictimsByNode = ReadonlyMap<
  string,
  { readonly victims: readonly PodInfo[]; readonly violations: number }
>

export interface Extender {
  /** Its URL prefix. */
  readonly name: string
  readonly isIgnorable: boolean
  readonly filters: boolean
  readonly prioritizes: boolean
  readonly preempts: boolean
  readonly binds: boolean
  /** Whether the pod asks for a resource that it manages; without any, it is interested in every pod. */
  isInterested(pod: PodInfo): boolean
  /** Rejects when it cannot be asked, or answers with an error. */
  filter(pod: PodInfo, nodes: readonly NodeInfo[]): Promise<ExtenderVerdict>
  /** What it adds to the score of each node, weighted; nodes it does not speak of get nothing. */
  prioritize(pod: PodInfo, nodes: readonly NodeInfo[]): Promise<ReadonlyMap<string, number>>
  preempt(
    pod: PodInfo,
    byNode: VictimsByNode,
    node: (name: string) => NodeInfo | undefined,
  ): Promise<VictimsByNode>
  bind(pod: PodInfo, nodeName: string): Promise<void>
}

/** Scores of extenders go to 10, those of plugins to 100. */
const scoreScale = 10
const largestAnswerBytes = 64 * 1024 * 1024

function tlsOptions({ tlsConfig, enableHTTPS }: ExtenderSettings) {
  const { insecure = false, serverName, ...files }: ExtenderTls = tlsConfig ?? {}
  const contentOf = (data: string | undefined, path: string | undefined): Buffer | undefined => {
    if (data) return Buffer.from(data, 'base64')
    return path ? readFileSync(path) : undefined
  }
  const ca = contentOf(files.caData, files.caFile)
  const cert = contentOf(files.certData, files.certFile)
  const key = contentOf(files.keyData, files.keyFile)
  return {
    rejectUnauthorized: !(insecure || (enableHTTPS && ca === undefined)),
    ...(serverName ? { servername: serverName } : {}),
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
  }
}

/** Posts JSON to a verb. Rejects unless the answer is 200 with JSON. */
type Send = (verb: string, body: object) => Promise<unknown>

function createSend(settings: ExtenderSettings): Send {
  const { urlPrefix, httpTimeoutMs } = settings
  const isSecure = urlPrefix.startsWith('https:')
  const agent = isSecure ? new Agent({ keepAlive: true, ...tlsOptions(settings) }) : undefined
  return async (verb, body) => {
    const url = `${urlPrefix.replace(/\/+$/, '')}/${verb}`
    const text = await new Promise<string>((resolve, reject) => {
      const options = {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        signal: AbortSignal.timeout(httpTimeoutMs),
      }
      const sent = isSecure
        ? httpsRequest(url, { ...options, ...(agent === undefined ? {} : { agent }) })
        : httpRequest(url, options)
      sent.on('error', reject)
      sent.on('response', (answer) => {
        const chunks: Buffer[] = []
        let bytes = 0
        answer.on('error', reject)
        answer.on('data', (chunk: Buffer) => {
          bytes += chunk.length
          if (bytes > largestAnswerBytes) sent.destroy(new Error('the answer is too large'))
          else chunks.push(chunk)
        })
        answer.on('end', () => {
          if (answer.statusCode === 200) resolve(Buffer.concat(chunks).toString())
          else {
            const code = answer.statusCode ?? 0
            reject(new Error(`failed ${verb} with extender at URL ${url}, code ${code}`))
          }
        })
      })
      sent.end(JSON.stringify(body))
    })
    return JSON.parse(text) as unknown
  }
}

/** A field of an answer; as in Go, the case of its name does not matter. */
function fieldOf(answer: unknown, name: string): unknown {
  if (typeof answer !== 'object' || answer === null) return undefined
  const wanted = name.toLowerCase()
  return Object.entries(answer).find(([key]) => key.toLowerCase() === wanted)?.[1] as unknown
}

function textMap(value: unknown): Map<string, string> {
  return new Map(Object.entries((value ?? {}) as object).map(([key, text]) => [key, String(text)]))
}

function failOnError(answer: unknown): void {
  const error = fieldOf(answer, 'Error')
  if (typeof error === 'string' && error !== '') throw new Error(error)
}

/** The nodes as the extender takes them: by name if it knows them, else whole. */
function nodeArguments({ nodeCacheCapable }: ExtenderSettings, nodes: readonly NodeInfo[]) {
  if (nodeCacheCapable) return { Nodes: null, NodeNames: nodes.map(({ name }) => name) }
  const items = nodes.flatMap(({ node }): Node[] => (node === undefined ? [] : [node]))
  return { Nodes: { metadata: {}, items }, NodeNames: null }
}

function namesIn(answer: unknown): string[] {
  const names = fieldOf(answer, 'NodeNames')
  if (Array.isArray(names)) return names.map(String)
  const items = fieldOf(fieldOf(answer, 'Nodes'), 'items')
  if (!Array.isArray(items)) return []
  return items.map((node: Node) => node.metadata.name ?? '')
}

async function filter(
  settings: ExtenderSettings,
  send: Send,
  { pod, nodes }: { readonly pod: PodInfo; readonly nodes: readonly NodeInfo[] },
): Promise<ExtenderVerdict> {
  const answer = await send(settings.filterVerb, {
    Pod: pod.pod,
    ...nodeArguments(settings, nodes),
  })
  failOnError(answer)
  const byName = new Map(nodes.map((node) => [node.name, node]))
  return {
    nodes: namesIn(answer).map((name) => {
      const node = byName.get(name)
      if (node !== undefined) return node
      throw new Error(
        `extender "${settings.urlPrefix}" claims a filtered node "${name}" which is not found in the input node list`,
      )
    }),
    failed: textMap(fieldOf(answer, 'FailedNodes')),
    unresolvable: textMap(fieldOf(answer, 'FailedAndUnresolvableNodes')),
  }
}

async function preempt(
  { preemptVerb, nodeCacheCapable, urlPrefix }: ExtenderSettings,
  send: Send,
  about: {
    readonly pod: PodInfo
    readonly byNode: VictimsByNode
    readonly node: (name: string) => NodeInfo | undefined
  },
): Promise<VictimsByNode> {
  const of = (form: (victim: PodInfo) => unknown) =>
    Object.fromEntries(
      [...about.byNode].map(([name, { victims, violations }]) => [
        name,
        { Pods: victims.map(form), NumPDBViolations: violations },
      ]),
    )
  const answer = await send(preemptVerb, {
    Pod: about.pod.pod,
    ...(nodeCacheCapable
      ? { NodeNameToMetaVictims: of(({ uid }) => ({ UID: uid })) }
      : { NodeNameToVictims: of(({ pod }) => pod) }),
  })
  const found = Object.entries((fieldOf(answer, 'NodeNameToMetaVictims') ?? {}) as object)
  return new Map(
    found.map(([name, meta]: [string, unknown]) => {
      const there = [...(about.node(name)?.pods.values() ?? [])]
      const pods = fieldOf(meta, 'Pods')
      const victims = (Array.isArray(pods) ? pods : []).map((each) => {
        const uid = String(fieldOf(each, 'UID'))
        const victim = there.find((other) => other.uid === uid)
        if (victim !== undefined) return victim
        throw new Error(
          `extender: ${urlPrefix} claims to preempt pod (UID: ${uid}) on node: ${name}, but the pod is not found on that node`,
        )
      })
      return [name, { victims, violations: Number(fieldOf(meta, 'NumPDBViolations') ?? 0) }]
    }),
  )
}

/** Reads the files that its TLS settings name; throws when one cannot be read. */
export function createExtender(settings: ExtenderSettings): Extender {
  const send = createSend(settings)
  const managed = new Set(settings.managedResources.map(({ name }) => name))
  return {
    name: settings.urlPrefix,
    isIgnorable: settings.ignorable,
    filters: settings.filterVerb !== '',
    prioritizes: settings.prioritizeVerb !== '',
    preempts: settings.preemptVerb !== '',
    binds: settings.bindVerb !== '',
    isInterested: ({ pod }) =>
      managed.size === 0 ||
      [...(pod.spec?.containers ?? []), ...(pod.spec?.initContainers ?? [])].some(
        ({ resources = {} }) =>
          Object.keys({ ...resources.requests, ...resources.limits }).some((name) =>
            managed.has(name),
          ),
      ),
    filter: (pod, nodes) => filter(settings, send, { pod, nodes }),
    async prioritize(pod, nodes) {
      const answer = await send(settings.prioritizeVerb, {
        Pod: pod.pod,
        ...nodeArguments(settings, nodes),
      })
      const scores = Array.isArray(answer) ? (answer as unknown[]) : []
      return new Map(
        scores.map((each) => [
          String(fieldOf(each, 'Host')),
          Number(fieldOf(each, 'Score') ?? 0) * settings.weight * scoreScale,
        ]),
      )
    },
    preempt: (pod, byNode, node) => preempt(settings, send, { pod, byNode, node }),
    async bind({ pod, uid }, nodeName) {
      const answer = await send(settings.bindVerb, {
        PodName: pod.metadata.name,
        PodNamespace: pod.metadata.namespace,
        PodUID: uid,
        Node: nodeName,
      })
      failOnError(answer)
    },
  }
}
