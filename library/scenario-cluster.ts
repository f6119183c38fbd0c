/** An embedded cluster as scenarios see it. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadAuthority } from '../certs/authority.ts'
import { createBootstrapToken, tokenSecret } from '../cluster/plan/bootstrap-token.ts'
import { caHashOf } from '../cluster/plan/ca-hash.ts'
import { defaultTokenTtlMs } from '../cluster/token-lifetime.ts'
import { resourcesOf } from '../components/api/resources.ts'
import { systemClock } from '../components/component-base/clock.ts'
import type { Identity } from '../cluster/identity.ts'
import type { Lab } from '../cluster/lab/lab.ts'
import type {
  AgentToStart,
  ScenarioCluster,
  StartedAgent,
} from '../scenarios/engine/scenario-cluster.ts'
import type { ClusterForm } from './cluster-form.ts'
import { connect } from './connection.ts'
import type { Connection } from './connection.ts'
import { createIdentities } from './identities.ts'
import type { VirtualTime } from './virtual-time.ts'

/** A file and folders for the commands of a scenario last until `close`. */
export interface HeldScenarioCluster {
  readonly cluster: ScenarioCluster
  close(): void
}

/** The same calls, each under way until it has been answered. */
function duringAll<C extends object>(calls: C, during: During): C {
  const entries = Object.entries(calls) as [string, (...args: unknown[]) => Promise<unknown>][]
  const counted = entries.map(([name, call]) => [
    name,
    (...args: unknown[]) => during(call(...args)),
  ])
  return Object.fromEntries(counted) as C
}

type During = <T>(work: Promise<T>) => Promise<T>

/** What the agent does meanwhile takes no real time that anybody has to wait for. */
async function startAgentOf(
  form: ClusterForm,
  agent: AgentToStart,
  time: VirtualTime | undefined,
): Promise<StartedAgent> {
  const during: During = (work) => time?.during(work) ?? work
  const slowly: During = (work) => time?.slowly(work) ?? work
  if (form.startAgent === undefined) throw new Error('this cluster starts no agents by hand')
  const started = await during(form.startAgent(agent))
  return {
    ...started,
    joined: (options) => slowly(started.joined(options)),
    logged: (pattern, signal) => slowly(started.logged(pattern, signal)),
    lines: () => during(started.lines()),
    stop: () => during(started.stop()),
  }
}

const labOf = ({ time, faults, chaos }: ClusterForm, during: During): Lab => ({
  time: duringAll(time, during),
  faults: duringAll(faults, during),
  // Whoever waits for its end waits for time to go on.
  chaos: { ...duringAll(chaos, during), over: () => chaos.over() },
})

/** For the files of one scenario. */
export function temporaryFolder(): string {
  return mkdtempSync(join(tmpdir(), 'skiff-scenario-'))
}

/** `time`: what is under way for the scenario counts there. `folder` is deleted at the end. */
export function scenarioClusterOver(
  form: ClusterForm,
  { time, folder: given }: { time?: VirtualTime; folder?: string } = {},
): HeldScenarioCluster {
  if (form.processes !== undefined) return { cluster: form.processes, close: () => {} }
  const { server, authority, dialect, clock } = form
  const identities = createIdentities(authority)
  const open = (identity: Identity): Connection =>
    connect({
      server,
      ca: authority.certificatePem,
      credentials: identities.credentialsOf(identity),
      dialect,
      clock,
      underWay: time?.underWay,
    })
  const during = <T>(work: Promise<T>): Promise<T> => time?.during(work) ?? work
  const own = open('admin')
  const { client } = own
  const folder = given ?? temporaryFolder()
  const kubeconfig = join(folder, 'kubeconfig')
  writeFileSync(kubeconfig, own.kubeconfig(), { mode: 0o600 })
  const cluster: ScenarioCluster = {
    dialect,
    server,
    caHash: caHashOf(loadAuthority(authority)),
    id: systemClock.uuid(),
    client,
    clientAs: (identity) => open(identity).client,
    createToken: async (options = {}) => {
      const token = options.token ?? createBootstrapToken(clock)
      const wanted = { ttlMs: defaultTokenTtlMs, ...options, token, dialect, nowMs: clock.now() }
      await client.resource(resourcesOf(dialect).secrets).create(tokenSecret(wanted))
      return token
    },
    addNode: async ({ name, simulated }) => {
      if (simulated !== undefined)
        throw new Error('an embedded cluster cannot carry simulated nodes: add nodes one by one')
      await during(form.addNode({ name }))
    },
    removeNode: (name) => during(form.removeNode(name)),
    startAgent: (agent) => startAgentOf(form, agent, time),
    agentCredentials: () => {
      const { certificatePem: ca } = authority
      return { ca, credentials: identities.credentialsOf('admin') }
    },
    agentFolder: () => folder,
    act: (verb, part) => during(form.act?.(verb, part) ?? Promise.resolve()),
    files: { kubeconfig, logs: folder },
    outside: time,
    lab: labOf(form, during),
  }
  const close = (): void => {
    client.close()
    rmSync(folder, { recursive: true, force: true })
  }
  return { cluster, close }
}
