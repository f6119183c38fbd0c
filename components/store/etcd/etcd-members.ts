/** EtcdMembers: the members of an etcd: list, add, promote and remove them (etcd: etcdserver/etcdserverpb/rpc.proto, Cluster). */
import type { Clock } from '../../component-base/clock.ts'
import { grpcCode, GrpcError } from '../../component-base/grpc/grpc-error.ts'
import { protobufFields, protobufMessage } from '../../component-base/grpc/protobuf-fields.ts'
import { EtcdClient } from './etcd-client.ts'
import { etcdEndpoint, type EtcdTls } from './etcd-endpoint.ts'
import { EtcdUnreachableError } from './etcd-failures.ts'
import { etcdMethod, readStatus } from './etcd-messages.ts'

export interface EtcdMemberEntry {
  /** Its id as etcd writes it: an integer of 64 bits, which a number does not hold. */
  readonly id: Buffer
  /** Empty until it has started. */
  readonly name: string
  readonly peerUrls: readonly string[]
  /** None until it has started. */
  readonly clientUrls: readonly string[]
  /** It gets all entries, and has no vote. */
  readonly isLearner: boolean
}

interface EtcdMembersOptions {
  readonly endpoints: readonly string[]
  readonly tls: EtcdTls
  readonly clock: Clock
  /** How long a call may take, with all its attempts. */
  readonly requestTimeoutMs: number
}

const method = {
  list: '/etcdserverpb.Cluster/MemberList',
  add: '/etcdserverpb.Cluster/MemberAdd',
  remove: '/etcdserverpb.Cluster/MemberRemove',
  promote: '/etcdserverpb.Cluster/MemberPromote',
} as const

/** Tag of field 1 as an integer, with which messages that name a member begin. */
const idTag = 0x08

/** The bytes of the integer in field 1, which etcd writes first. */
function idIn(message: Buffer): Buffer {
  if (message[0] !== idTag) throw new Error('etcd sent a member without an id')
  let end = 1
  while ((message[end] ?? 0) >= 0x80) end += 1
  return Buffer.from(message.subarray(1, end + 1))
}

function readMember(message: Buffer): EtcdMemberEntry {
  const texts: Record<number, string[]> = { 2: [], 3: [], 4: [] }
  let isLearner = false
  for (const { number, value } of protobufFields(message)) {
    if (typeof value !== 'number') texts[number]?.push(value.toString())
    else if (number === 5) isLearner = value !== 0
  }
  const { 2: names = [], 3: peerUrls = [], 4: clientUrls = [] } = texts
  return { id: idIn(message), name: names[0] ?? '', peerUrls, clientUrls, isLearner }
}

function readMembers(answer: Buffer, field: number): EtcdMemberEntry[] {
  return [...protobufFields(answer)].flatMap(({ number, value }) =>
    number === field && typeof value !== 'number' ? [readMember(value)] : [],
  )
}

const naming = ({ id }: EtcdMemberEntry): Buffer => Buffer.concat([Buffer.from([idTag]), id])

/** The state of the cluster is another one than the call expects. */
function isRejected(error: unknown): error is GrpcError {
  return error instanceof GrpcError && error.code === grpcCode.failedPrecondition
}

export function isSameMember(one: EtcdMemberEntry, other: EtcdMemberEntry): boolean {
  return one.id.equals(other.id)
}

/** Calls reject with etcd's GrpcErrors, and with EtcdUnreachableError when no endpoint answers in time. */
export class EtcdMembers {
  readonly #client: EtcdClient

  constructor({ endpoints, tls, clock, requestTimeoutMs }: EtcdMembersOptions) {
    const parsed = endpoints.map((url) => etcdEndpoint(url, () => tls))
    this.#client = new EtcdClient({ endpoints: parsed, clock, requestTimeoutMs })
  }

  async list(): Promise<EtcdMemberEntry[]> {
    // Releases before 3.5 know no linearizable list.
    const message = protobufMessage([1, true])
    return readMembers(await this.#client.call(method.list, message, true), 2)
  }

  /** Adds a learner that listens for members there. Resolves with all members; also when it was added before. */
  async addLearner(peerUrl: string): Promise<EtcdMemberEntry[]> {
    const message = protobufMessage([1, peerUrl], [2, true])
    try {
      return readMembers(await this.#client.call(method.add, message, true), 3)
    } catch (error) {
      // An earlier attempt of the call may have done it.
      const all = isRejected(error) ? await this.list() : []
      if (all.some(({ peerUrls }) => peerUrls.includes(peerUrl))) return all
      throw error
    }
  }

  /** Gives the learner a vote. False: it has not caught up. */
  async promote(member: EtcdMemberEntry): Promise<boolean> {
    try {
      await this.#client.call(method.promote, naming(member), true)
      return true
    } catch (error) {
      if (!isRejected(error)) throw error
      const now = (await this.list()).find((one) => isSameMember(one, member))
      return now?.isLearner === false
    }
  }

  /** Resolves also when it is removed already. */
  async remove(member: EtcdMemberEntry): Promise<void> {
    try {
      await this.#client.call(method.remove, naming(member), true)
    } catch (error) {
      if (!(error instanceof GrpcError) || error.code !== grpcCode.notFound) throw error
    }
  }

  /** Of the member that answers. */
  async version(): Promise<string> {
    return readStatus(await this.#client.call(etcdMethod.status, Buffer.alloc(0), true)).version
  }

  close(): void {
    this.#client.close()
  }
}

/** Whether one of these endpoints answers and has a leader. */
export async function answers(options: EtcdMembersOptions): Promise<boolean> {
  if (options.endpoints.length === 0) return false
  const members = new EtcdMembers(options)
  try {
    await members.version()
    return true
  } catch (error) {
    if (error instanceof EtcdUnreachableError || error instanceof GrpcError) return false
    throw error
  } finally {
    members.close()
  }
}
