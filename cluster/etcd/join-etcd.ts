/** join-etcd: adds a member on this machine to the etcd of a control plane that it joins, as a learner. */
import type { EtcdPki } from '../../certs/etcd-pki.ts'
import type { Clock } from '../../components/component-base/clock.ts'
import { answers, EtcdMembers } from '../../components/store/etcd/etcd-members.ts'
import type { EtcdMemberEntry } from '../../components/store/etcd/etcd-members.ts'
import { environment } from '../../components/component-base/environment.ts'
import { ClusterError } from '../cluster-error.ts'
import { urlHost } from '../plan/cluster-config.ts'
import type { EtcdConfig, EtcdMember } from '../plan/etcd-config.ts'
import { findEtcd, versionOfEtcd } from '../plan/find-etcd.ts'
import { freePorts, wishedPorts } from '../plan/ports.ts'
import { membersError } from './known-members.ts'

interface EtcdJoin {
  /** Of this machine. */
  readonly address: string
  /** Of this machine's load balancer. */
  readonly port: number
  /** Client URLs of members that have a vote. */
  readonly servers: readonly string[]
  readonly pki: EtcdPki
  /** Default: the etcd in PATH. */
  readonly binary: string | undefined
  readonly clock: Clock
}

/** etcd rejects changes until a member that joined or left has been connected to for 5 s. */
const changeTimeoutMs = 20_000
const probeTimeoutMs = 1000

/** One for each machine: no two have the same address. */
export function memberNameAt(address: string): string {
  return `etcd-${address.replaceAll(':', '-')}`
}

function isAt(address: string, { peerUrls }: EtcdMemberEntry): boolean {
  return peerUrls.some((url) => URL.parse(url)?.hostname === urlHost(address))
}

/** What an earlier cluster at this address has left in etcd is removed. Throws a ClusterError while it runs. */
async function removeFormer(
  members: EtcdMembers,
  former: readonly EtcdMemberEntry[],
  { pki, clock, address }: EtcdJoin,
): Promise<void> {
  const tls = tlsOfPki(pki)
  for (const one of former) {
    const endpoints = one.clientUrls
    if (await answers({ endpoints, tls, clock, requestTimeoutMs: probeTimeoutMs })) {
      throw new ClusterError(
        'already-exists',
        `etcd has a member at ${address}: ${one.name} runs`,
        {
          hint: 'join from another --address, or add no member: --etcd-members 0',
        },
      )
    }
    await members.remove(one)
  }
}

function tlsOfPki({ authority, credentials }: EtcdPki) {
  const { certificatePem: cert, privateKeyPem: key } = credentials['apiserver-etcd-client']
  return { ca: authority.certificatePem, cert, key }
}

/** Throws a ClusterError for an etcd that is older than the cluster's, which etcd would reject at its start. */
async function checkVersion(binary: string, members: EtcdMembers): Promise<void> {
  const [own, theirs] = await Promise.all([versionOfEtcd(binary), members.version()])
  const [major = 0, minor = 0] = own.split('.').map(Number)
  const [theirMajor = 0, theirMinor = 0] = theirs.split('.').map(Number)
  if (major > theirMajor || (major === theirMajor && minor >= theirMinor)) return
  throw new ClusterError(
    'failed',
    `${binary} is etcd ${own}, and the cluster's members run ${theirs}`,
    {
      hint: 'install that version or a newer one, or add no member: --etcd-members 0',
    },
  )
}

async function addMember(
  members: EtcdMembers,
  peerUrl: string,
  join: EtcdJoin,
): Promise<EtcdMemberEntry[]> {
  const all = await members.list()
  const former = all.filter((one) => isAt(join.address, one))
  await removeFormer(members, former, join)
  const joining = all.find((one) => one.isLearner && !former.includes(one))
  if (joining !== undefined) {
    const at = joining.name || (joining.peerUrls[0] ?? '')
    throw new ClusterError('failed', `another member is joining etcd: ${at}`, {
      hint: `try again when it has joined; if it is gone, remove it on a machine of the cluster: skiff member remove ${at}`,
    })
  }
  return await members.addLearner(peerUrl)
}

/** The etcd configuration of this machine. Rejects with a ClusterError; then no member was added. */
export async function joinEtcd(join: EtcdJoin): Promise<EtcdConfig> {
  const { address, servers, pki, clock } = join
  const [binary, [clientPort = 0, peerPort = 0], [metricsPort = 0]] = await Promise.all([
    findEtcd(join.binary, environment),
    freePorts(address, wishedPorts(join, { etcdMembers: 1 })),
    freePorts('127.0.0.1', [0]),
  ])
  const member: EtcdMember = { name: memberNameAt(address), clientPort, peerPort, metricsPort }
  const host = urlHost(address)
  const peerUrl = `https://${host}:${peerPort}`
  const members = new EtcdMembers({
    endpoints: servers,
    tls: tlsOfPki(pki),
    clock,
    requestTimeoutMs: changeTimeoutMs,
  })
  try {
    await checkVersion(binary, members)
    const all = await addMember(members, peerUrl, join)
    const initialCluster = all.flatMap(({ name, peerUrls }) =>
      peerUrls.map((url) => `${url === peerUrl ? member.name : name}=${url}`),
    )
    // It rejects calls itself until it has a vote. A former member at this address may have had the same port.
    const others = servers.filter((url) => url !== `https://${host}:${clientPort}`)
    return { servers: others, own: { binary, members: [member], joined: initialCluster.join() } }
  } catch (error) {
    if (error instanceof ClusterError) throw error
    throw membersError(
      `etcd cannot take a member at ${address}`,
      error,
      'check that most members are alive (skiff status), or add no member: --etcd-members 0',
    )
  } finally {
    members.close()
  }
}
