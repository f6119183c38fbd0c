/** Faults: what can happen to the processes and the network. Each is undone at its end. */
import type { CommitFeed } from './commit-feed.ts'
import type { Members } from './members.ts'
import type { Network } from './network.ts'
import { clockJumpMs, type Servers } from './servers.ts'

export interface Place {
  readonly network: Network
  readonly members: Members
  readonly servers: Servers
  readonly feed: CommitFeed
}

/** Chooses one of several by number. */
type Choose = (names: readonly string[]) => string
type Undo = () => unknown
type Start = (place: Place, choose: Choose) => Undo | Promise<Undo>

/** The host on which the clients are. */
export const clientsHost = 'clients'

/** The member that leads, or any while none does. */
async function leader({ members }: Place, choose: Choose): Promise<string> {
  const known = await members.status()
  return known.find(({ isLeader }) => isLeader)?.name ?? choose(members.names)
}

async function killMember({ members }: Place, name: string): Promise<Undo> {
  await members.kill(name)
  return () => members.ensure(name)
}

function pause(part: Members | Servers, name: string): Undo {
  part.signal(name, 'SIGSTOP')
  return () => part.signal(name, 'SIGCONT')
}

/** Runs for 30 ms out of every 250, as on a machine that is far too slow. */
function stutter(part: Members, name: string): Undo {
  const timer = setInterval(() => {
    part.signal(name, 'SIGSTOP')
    setTimeout(() => part.signal(name, 'SIGCONT'), 220)
  }, 250)
  return () => {
    clearInterval(timer)
    setTimeout(() => part.signal(name, 'SIGCONT'), 250)
  }
}

/** Its clock jumps, and back at the end; a process that is started meanwhile has the right time. */
function jump({ servers }: Place, name: string, skewMs: number): Undo {
  servers.setClock(name, skewMs)
  return () => servers.setClock(name, 0)
}

/** Cuts the host off from the others: `in` what comes, `out` what goes. */
function cut(
  { network }: Place,
  name: string,
  from: { others: readonly string[]; ways: readonly ('in' | 'out')[] },
): Undo {
  const pairs = from.others
    .filter((other) => other !== name)
    .flatMap((other) => from.ways.map((way) => (way === 'in' ? [other, name] : [name, other])))
  for (const [sender = '', receiver = ''] of pairs) network.cut(sender, receiver)
  return () => {
    for (const [sender = '', receiver = ''] of pairs) network.mend(sender, receiver)
  }
}

/** Members, and servers as their clients. */
function etcdSide({ members, servers }: Place): readonly string[] {
  return [...members.names, ...servers.names]
}

/** A server that has not seen what is compacted reads the state anew. */
async function compact({ members, feed }: Place): Promise<Undo> {
  const ignore = (): void => {
    // Another fault is in the way.
  }
  await members.ctl(['compact', String(Math.max(1, feed.newest))]).catch(ignore)
  for (const name of members.names) await members.ctl(['defrag'], [name]).catch(ignore)
  return () => {}
}

async function moveLeader({ members }: Place, choose: Choose): Promise<Undo> {
  const known = await members.status()
  const leads = known.find(({ isLeader }) => isLeader)
  const others = known.filter(({ isLeader }) => !isLeader)
  const to = others.find(({ name }) => name === choose(others.map((one) => one.name)))
  if (leads !== undefined && to !== undefined) {
    const words = ['move-leader', BigInt(to.id).toString(16)]
    await members.ctl(words, [leads.name]).catch(() => {
      // It leads no more.
    })
  }
  return () => {}
}

const both = ['in', 'out'] as const

const starts = {
  'member killed': (place, choose) => killMember(place, choose(place.members.names)),
  'leader killed': async (place, choose) => await killMember(place, await leader(place, choose)),
  'member paused': ({ members }, choose) => pause(members, choose(members.names)),
  'leader paused': async (place, choose) => pause(place.members, await leader(place, choose)),
  'member slow': ({ members }, choose) => stutter(members, choose(members.names)),
  "leader's disk slow": async (place, choose) =>
    await place.members.disturbDisk(await leader(place, choose), { takesMs: 300 }),
  "member's disk fails": async ({ members }, choose) =>
    await members.disturbDisk(choose(members.names), 'fails'),
  "member's disk lost, member replaced": async ({ members }, choose) =>
    await members.loseDisk(choose(members.names)),
  'leader moved': moveLeader,
  'leader cut off': async (place, choose) =>
    cut(place, await leader(place, choose), { others: etcdSide(place), ways: both }),
  'member receives nothing': (place, choose) =>
    cut(place, choose(place.members.names), { others: etcdSide(place), ways: ['in'] }),
  'member sends nothing': (place, choose) =>
    cut(place, choose(place.members.names), { others: etcdSide(place), ways: ['out'] }),
  'two members apart': (place, choose) => {
    const name = choose(place.members.names)
    const others = place.members.names.filter((one) => one !== name).slice(0, 1)
    return cut(place, name, { others, ways: both })
  },
  'compaction and defragmentation': compact,
  'server killed': async ({ servers }, choose) => {
    const name = choose(servers.names)
    await servers.kill(name)
    return async () => await servers.ensure(name)
  },
  'server paused': ({ servers }, choose) => pause(servers, choose(servers.names)),
  "server's clock ahead": (place, choose) => jump(place, choose(place.servers.names), clockJumpMs),
  "server's clock behind": (place, choose) =>
    jump(place, choose(place.servers.names), -clockJumpMs),
  'server cut off from a member': (place, choose) =>
    cut(place, choose(place.servers.names), { others: [choose(place.members.names)], ways: both }),
  'server cut off from etcd': (place, choose) =>
    cut(place, choose(place.servers.names), { others: place.members.names, ways: both }),
  "etcd's answers lost": (place, choose) =>
    cut(place, choose(place.servers.names), { others: place.members.names, ways: ['in'] }),
  "server's answers lost": (place, choose) =>
    cut(place, choose(place.servers.names), { others: [clientsHost], ways: ['out'] }),
  'lossy link': ({ network, members, servers }, choose) => {
    const name = choose([...members.names, ...servers.names])
    return network.lose(name, 30)
  },
  'narrow link': ({ network, members, servers }, choose) => {
    const name = choose([...members.names, ...servers.names])
    return network.narrow(name, 300)
  },
} as const satisfies Record<string, Start>

export type FaultKind = keyof typeof starts
export const faultKinds = Object.keys(starts) as readonly FaultKind[]

/** Resolves with how to undo it. */
export async function startFault(
  place: Place,
  fault: { readonly kind: FaultKind; readonly which: number },
): Promise<Undo> {
  const choose: Choose = (names) => names[fault.which % names.length] ?? ''
  const start: Start = starts[fault.kind]
  return await start(place, choose)
}
