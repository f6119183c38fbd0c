/**
 * Network: hosts with a network namespace each, joined by a bridge in the namespace of this process, whose links can be cut one
 * way, and made slow or lossy. It needs network and mount namespaces of its own (`start-drill.ts`), with which all of it goes.
 */
import { execFileSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'

export interface Host {
  readonly name: string
  readonly address: string
  /** Words before a command that runs it there, in the same process. */
  readonly enter: readonly string[]
}

interface Link extends Host {
  readonly mac: string
  readonly device: string
  /** Words after `ip` and `tc` that choose the namespace. */
  readonly at: readonly string[]
}

/** No host has it: packets to it are lost without a word. */
const nowhere = '02:00:00:00:ff:ff'
/** Instructions of the classic packet filter: `mod 100` of a random number below the percentage drops. */
const dropped = (percent: number): string =>
  `6,32 0 0 4294963256,148 0 0 100,53 0 1 ${percent},6 0 0 4294967295,6 0 0 2,6 0 0 2`

export class Network {
  readonly #links = new Map<string, Link>()
  /** Discipline of a link -> how many want it: faults of one kind overlap. */
  readonly #wanted = new Map<string, number>()

  /** With one host, on which this process is. */
  constructor(ownName: string) {
    execFileSync('mount', ['-t', 'tmpfs', 'tmpfs', '/run'])
    mkdirSync('/run/netns')
    ip('link', 'set', 'lo', 'up')
    ip('link', 'add', 'br0', 'type', 'bridge')
    this.#join({ name: ownName, device: 'br0', at: [], enter: [] })
  }

  get names(): readonly string[] {
    return [...this.#links.keys()]
  }

  addHost(name: string): Host {
    const at = ['-n', name]
    ip('netns', 'add', name)
    ip('link', 'add', `to-${name}`, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', name)
    ip('link', 'set', `to-${name}`, 'master', 'br0', 'up')
    ip(...at, 'link', 'set', 'lo', 'up')
    return this.#join({ name, device: 'eth0', at, enter: ['ip', 'netns', 'exec', name] })
  }

  /** Addresses of the hardware are written down, so that no host asks for them. */
  #join(host: Pick<Link, 'name' | 'device' | 'at' | 'enter'>): Host {
    const number = this.#links.size + 1
    const mac = `02:00:00:00:00:${number.toString(16).padStart(2, '0')}`
    const link = { ...host, address: `10.77.0.${number}`, mac }
    const { at, device } = link
    ip(...at, 'link', 'set', device, 'address', mac, 'up')
    ip(...at, 'address', 'add', `${link.address}/24`, 'dev', device)
    this.#links.set(host.name, link)
    for (const other of this.#links.values()) {
      if (other === link) continue
      point(other, link, mac)
      point(link, other, other.mac)
    }
    return link
  }

  /** Loses what `from` sends to `to`; the other way works. */
  cut(from: string, to: string): void {
    point(this.#link(from), this.#link(to), nowhere)
  }

  mend(from: string, to: string): void {
    point(this.#link(from), this.#link(to), this.#link(to).mac)
  }

  /** Loses so many of the packets that the host sends, until the returned function is called. */
  lose(name: string, percent: number): () => void {
    return this.#want(this.#link(name), 'clsact', ({ at, device }) => {
      const filter = ['filter', 'add', 'dev', device, 'egress', 'protocol', 'all']
      tc(...at, ...filter, 'bpf', 'bytecode', dropped(percent), 'direct-action')
    })
  }

  /** Lets the host send so many kilobits a second, until the returned function is called; they queue up for a second at most. */
  narrow(name: string, kbit: number): () => void {
    const bucket = ['rate', `${kbit}kbit`, 'burst', '8kb', 'latency', '1s']
    return this.#want(this.#link(name), 'root', () => {}, ['tbf', ...bucket])
  }

  /** Gives the link a discipline, which it keeps until everyone who wanted it has called the returned function. */
  #want(
    link: Link,
    which: 'clsact' | 'root',
    fill: (link: Link) => void,
    kind: readonly string[] = [],
  ): () => void {
    const { name, at, device } = link
    const key = `${name} ${which}`
    const wanted = (by: number): number => {
      const count = (this.#wanted.get(key) ?? 0) + by
      this.#wanted.set(key, count)
      return count
    }
    if (wanted(1) === 1) {
      tc(...at, 'qdisc', 'add', 'dev', device, which, ...kind)
      fill(link)
    }
    return () => {
      if (wanted(-1) === 0) tc(...at, 'qdisc', 'del', 'dev', device, which)
    }
  }

  #link(name: string): Link {
    const link = this.#links.get(name)
    if (link === undefined) throw new Error(`there is no host ${name}`)
    return link
  }
}

function ip(...words: string[]): void {
  execFileSync('ip', words, { stdio: 'pipe' })
}

function tc(...words: string[]): void {
  execFileSync('tc', words, { stdio: 'pipe' })
}

function point({ at, device }: Link, { address }: Link, mac: string): void {
  ip(...at, 'neigh', 'replace', address, 'lladdr', mac, 'nud', 'permanent', 'dev', device)
}
