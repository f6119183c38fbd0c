/**
 * joins: each node's way in, step by step, from what the API server saw: requests of the journal, CSRs and nodes. Pure.
 * What only the agent knows (the signature of cluster-info, the pin of the CA) is marked as not seen.
 */
import type { RequestRecord } from '../../../../components/api/request-record.ts'
import type { SlimCsr } from '../../../protocol/lab.ts'
import type { SlimNode } from '../../../protocol/live.ts'

/** `unseen`: the server cannot know, or its journal does not reach back. */
export type StepState = 'done' | 'waiting' | 'failed' | 'unseen' | 'later'

export interface JoinStep {
  readonly id:
    'cluster-info' | 'trust' | 'token' | 'csr' | 'approval' | 'certificate' | 'node' | 'lease'
  readonly title: string
  readonly state: StepState
  readonly text: string
  readonly atMs?: number | undefined
}

export interface Join {
  readonly key: string
  /** Undefined until a CSR names it. */
  readonly node: string | undefined
  /** Of its bootstrap token; empty until it is used. */
  readonly tokenId: string
  readonly startedMs: number
  readonly outcome: 'joined' | 'joining' | 'stopped'
  readonly steps: readonly JoinStep[]
}

/** Agents try again within seconds; one that was not heard for this long has stopped. */
const silentMs = 15_000
/** Reads of cluster-info before a CSR that may belong to its agent. */
const discoveryMs = 60_000
const mostJoins = 100

const titles: Readonly<Record<JoinStep['id'], string>> = {
  'cluster-info': 'cluster-info',
  trust: 'Signature and CA pin',
  token: 'Token',
  csr: 'Certificate request',
  approval: 'Approval',
  certificate: 'Certificate',
  node: 'Registration',
  lease: 'First lease',
}

type Found = Pick<JoinStep, 'state' | 'text' | 'atMs'>

const tokenIdOf = (user: string): string => user.replace(/^system:bootstrap:/, '')
const isBootstrap = (user: string): boolean => user.startsWith('system:bootstrap:')
const isDiscovery = ({ verb, resource, name, authenticator, user }: RequestRecord): boolean =>
  resource === 'configmaps' &&
  name === 'cluster-info' &&
  verb === 'get' &&
  (authenticator === undefined || user === 'system:anonymous')
const isCsrCreate = ({ verb, resource, subresource }: RequestRecord): boolean =>
  resource === 'certificatesigningrequests' && verb === 'create' && subresource === ''

function discoveryStep(reads: readonly RequestRecord[]): Found {
  const last = reads.at(-1)
  if (last === undefined)
    return {
      state: 'unseen',
      text: 'not recorded: the journal keeps reads only while a page is open',
    }
  const { status, message, atMs, userAgent } = last
  if (status >= 400) return { state: 'failed', text: message ?? `answered ${status}`, atMs }
  const times = reads.length === 1 ? 'once' : `${reads.length} times`
  return { state: 'done', text: `read without a credential, ${times}, by ${userAgent}`, atMs }
}

function approvalStep({ verdict, name }: SlimCsr, written: RequestRecord | undefined): Found {
  if (verdict === undefined) {
    const hint = `kubectl certificate approve ${name}`
    return { state: 'waiting', text: `not approved: csrapproving must run, or approve it: ${hint}` }
  }
  const { type, text, atMs } = verdict
  const state = type === 'Approved' ? 'done' : 'failed'
  // The condition's own time has whole seconds.
  const preciseMs = written?.atMs ?? atMs
  return { state, text: `${type}${text === '' ? '' : `: ${text}`}`, atMs: preciseMs }
}

function certificateStep(csr: SlimCsr, signed: RequestRecord | undefined): Found {
  const { hasCertificate, expiresMs, verdict, signer } = csr
  if (hasCertificate) {
    const until = expiresMs === undefined ? '' : ` until ${new Date(expiresMs).toISOString()}`
    return { state: 'done', text: `issued${until}`, atMs: signed?.atMs }
  }
  if (verdict?.type !== 'Approved') return { state: 'later', text: '' }
  return { state: 'waiting', text: `approved but not signed: csrsigning must run for ${signer}` }
}

interface Sources {
  readonly records: readonly RequestRecord[]
  readonly nodes: ReadonlyMap<string, SlimNode>
  readonly nowMs: number
}

/** The registration and the first lease of the node, after its certificate. */
function nodeSteps(csr: SlimCsr, { records, nodes }: Sources): Pick<Steps, 'node' | 'lease'> {
  const later: Found = { state: 'later', text: '' }
  const { node: name, createdMs, hasCertificate } = csr
  if (name === undefined || !hasCertificate) return { node: later, lease: later }
  const own = records.filter(
    ({ user, atMs }) => user === `system:node:${name}` && atMs >= createdMs - 1000,
  )
  const registered = own.find(({ resource, verb }) => resource === 'nodes' && verb === 'create')
  const leased = own.find(
    ({ resource, verb, status }) =>
      resource === 'leases' && (verb === 'create' || verb === 'update') && status < 400,
  )
  const object = nodes.get(name)
  const refusal = registered !== undefined && registered.status >= 400 && registered.status !== 409
  const node: Found =
    object === undefined
      ? refusal
        ? { state: 'failed', text: registered.message ?? '', atMs: registered.atMs }
        : { state: 'waiting', text: `no Node ${name} yet` }
      : { state: 'done', text: `Node ${name}, Ready: ${object.ready}`, atMs: registered?.atMs }
  const hasLease = leased !== undefined || object?.renewedMs !== undefined
  const lease: Found = hasLease
    ? { state: 'done', text: 'it gives signs of life', atMs: leased?.atMs }
    : { state: node.state === 'done' ? 'waiting' : 'later', text: '' }
  return { node, lease }
}

type Steps = Readonly<Record<JoinStep['id'], Found>>

const ids = Object.keys(titles) as JoinStep['id'][]

function stepsOf(steps: Steps): JoinStep[] {
  return ids.map((id) => ({ id, title: titles[id], ...steps[id] }))
}

const later: Found = { state: 'later', text: '' }

function joinOfCsr(csr: SlimCsr, reads: readonly RequestRecord[], sources: Sources): Join {
  const { records, nowMs } = sources
  const ofCsr = records.filter(
    ({ resource, name }) => resource === 'certificatesigningrequests' && name === csr.name,
  )
  const created = ofCsr.find(isCsrCreate)
  const signed = ofCsr.find(({ subresource, verb }) => subresource === 'status' && verb !== 'get')
  const written = ofCsr.findLast(
    ({ subresource, status }) => subresource === 'approval' && status < 400,
  )
  const atMs = created?.atMs ?? csr.createdMs
  const steps = stepsOf({
    'cluster-info': discoveryStep(reads),
    trust: { state: 'unseen', text: 'only the agent checks them; it went on, so both were right' },
    token: { state: 'done', text: `${tokenIdOf(csr.user)} was accepted`, atMs },
    csr: { state: 'done', text: `${csr.name} for node ${csr.node ?? 'without a name'}`, atMs },
    approval: approvalStep(csr, written),
    certificate: certificateStep(csr, signed),
    ...nodeSteps(csr, sources),
  })
  const isJoined = steps.every(({ state }) => state === 'done' || state === 'unseen')
  const hasFailed = steps.some(({ state }) => state === 'failed')
  const heardMs = Math.max(atMs, ...steps.map((step) => step.atMs ?? 0))
  const isStuck = hasFailed || nowMs - heardMs > silentMs
  return {
    key: csr.name,
    node: csr.node,
    tokenId: tokenIdOf(csr.user),
    startedMs: reads[0]?.atMs ?? atMs,
    outcome: isJoined ? 'joined' : isStuck ? 'stopped' : 'joining',
    steps,
  }
}

/** A CSR that the server refused to create, with the last of its retries. */
function refusedJoin(tries: readonly RequestRecord[], reads: readonly RequestRecord[]): Join {
  const last = tries.at(-1)
  const { status = 0, message = '', user = '', atMs = 0 } = last ?? {}
  const isUnknown = status === 401
  const times = tries.length > 1 ? ` (${tries.length} times)` : ''
  const failed: Found = { state: 'failed', text: `${status}: ${message}${times}`, atMs }
  const token: Found = isUnknown
    ? {
        ...failed,
        text: `${failed.text}: the token is unknown, expired, or not for authentication`,
      }
    : { state: 'done', text: `${tokenIdOf(user)} was accepted`, atMs }
  return {
    key: `refused ${user} ${tries[0]?.seq ?? 0}`,
    node: undefined,
    tokenId: isUnknown ? '' : tokenIdOf(user),
    startedMs: reads[0]?.atMs ?? tries[0]?.atMs ?? 0,
    outcome: 'stopped',
    steps: stepsOf({
      'cluster-info': discoveryStep(reads),
      trust: {
        state: 'unseen',
        text: 'only the agent checks them; it went on, so both were right',
      },
      token,
      csr: isUnknown ? later : failed,
      approval: later,
      certificate: later,
      node: later,
      lease: later,
    }),
  }
}

/** Reads of cluster-info that no certificate request followed. */
function unfinishedJoin(reads: readonly RequestRecord[], nowMs: number): Join | undefined {
  const last = reads.at(-1)
  if (last === undefined) return undefined
  const isSilent = nowMs - last.atMs > silentMs
  const text = isSilent
    ? 'no request followed: the signature for its token was missing, or the CA pin did not match; the agent says which'
    : 'only the agent checks them; it may wait for the signature of its token'
  return {
    key: `read ${reads[0]?.seq ?? 0}`,
    node: undefined,
    tokenId: '',
    startedMs: reads[0]?.atMs ?? last.atMs,
    outcome: isSilent ? 'stopped' : 'joining',
    steps: stepsOf({
      'cluster-info': discoveryStep(reads),
      trust: { state: isSilent ? 'failed' : 'waiting', text },
      token: later,
      csr: later,
      approval: later,
      certificate: later,
      node: later,
      lease: later,
    }),
  }
}

/**
 * Anonymous readers have no name: reads go to the certificate request that came next, if it came soon. It gets those of its own user agent;
 * without any those of agents that request no certificate themselves, as kubeadm's, whose kubelet does.
 */
function createReadQueue(records: readonly RequestRecord[]) {
  const requesters = new Set(records.filter(isCsrCreate).map(({ userAgent }) => userAgent))
  let waiting = records.filter(isDiscovery)
  return {
    /** `userAgent` undefined: the journal does not have the request. */
    before: (atMs: number, userAgent: string | undefined): RequestRecord[] => {
      const soon = waiting.filter((read) => read.atMs <= atMs && atMs - read.atMs < discoveryMs)
      const own = soon.filter((read) => read.userAgent === userAgent)
      const taken = own.length > 0 ? own : soon.filter((read) => !requesters.has(read.userAgent))
      waiting = waiting.filter((read) => !taken.includes(read))
      return taken
    },
    /** By user agent. */
    rest: (): readonly (readonly RequestRecord[])[] => [
      ...Map.groupBy(waiting, ({ userAgent }) => userAgent).values(),
    ],
  }
}

/** Consecutive refusals of the same user. */
function refusalsOf(records: readonly RequestRecord[]): RequestRecord[][] {
  const groups = new Map<string, RequestRecord[]>()
  for (const record of records) {
    if (!isCsrCreate(record) || record.status < 400) continue
    if (record.status !== 401 && !isBootstrap(record.user)) continue
    const key = `${record.status} ${record.user}`
    groups.set(key, [...(groups.get(key) ?? []), record])
  }
  return [...groups.values()]
}

/** The newest first. `records` are in the order of the journal. */
export function joinsOf(
  records: readonly RequestRecord[],
  csrs: readonly SlimCsr[],
  nodes: ReadonlyMap<string, SlimNode>,
  nowMs: number,
): Join[] {
  const sources: Sources = { records, nodes, nowMs }
  const reads = createReadQueue(records)
  const begun = [
    ...csrs
      .filter(({ user }) => isBootstrap(user))
      .map((csr) => {
        const created = records.find((one) => isCsrCreate(one) && one.name === csr.name)
        const atMs = created?.atMs ?? csr.createdMs
        const make = () => joinOfCsr(csr, reads.before(atMs, created?.userAgent), sources)
        return { atMs, make }
      }),
    ...refusalsOf(records).map((tries) => {
      const { atMs = 0, userAgent } = tries.at(-1) ?? {}
      return { atMs, make: () => refusedJoin(tries, reads.before(atMs, userAgent)) }
    }),
  ]
  const joins = begun.toSorted((one, other) => one.atMs - other.atMs).map(({ make }) => make())
  const unfinished = reads.rest().flatMap((one) => unfinishedJoin(one, nowMs) ?? [])
  return [...joins, ...unfinished]
    .toSorted((one, other) => other.startedMs - one.startedMs)
    .slice(0, mostJoins)
}
