/**
 * Certificate faults: a component runs with a certificate that is expired, not yet valid, or of another authority: components with that of
 * their client, API servers with that which they serve with. What the cluster keeps of its own is not touched.
 */
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { createAuthority, loadAuthority } from '../../certs/authority.ts'
import type { Authority } from '../../certs/authority.ts'
import { writeFileAtomically } from '../../certs/pki-files.ts'
import { credentialProfile, issue } from '../../certs/pki.ts'
import type { Credential, CredentialName } from '../../certs/pki.ts'
import { clientProfile, nodeSubject } from '../../certs/profiles.ts'
import type { Profile } from '../../certs/profiles.ts'
import type { ComponentStatus } from '../control-protocol.ts'
import type { CertificateFault } from '../lab/fault-spec.ts'
import type { NamedFault } from '../lab/levers.ts'
import { cannotHold } from '../lab/no-such-part.ts'
import type { ClusterConfig } from '../plan/cluster-config.ts'
import { apiServerNames, credentialKubeconfig } from '../plan/prepare.ts'
import { readCheckedCredential } from '../state/check-pki.ts'
import type { StatePaths } from '../state/state-dir.ts'
import type { ComponentSet } from './component-set.ts'
import type { ManagedComponent } from './managed-component.ts'
import type { ProcessFaultHeld } from './process-faults.ts'

const hourMs = 3_600_000
/** Where an agent keeps its key and certificate (node-agent/join/node-credential.ts). */
const clientCredentialName = 'kubelet-client-current.pem'

interface CertificatePlace {
  readonly config: ClusterConfig
  readonly paths: StatePaths
  readonly components: ComponentSet
  /** The cluster's time. */
  readonly nowMs: number
}

/** The certificate that the component would have, but for the fault. */
function issueFaulty(
  profile: Profile,
  { is }: CertificateFault,
  { config, paths, nowMs }: CertificatePlace,
): Credential {
  const own = (): Authority => loadAuthority(readCheckedCredential(paths, 'ca'))
  const short = { ...profile, lifetimeMs: hourMs }
  switch (is) {
    case 'expired':
      return issue(own(), { profile: short, nowMs: nowMs - 3 * hourMs })
    case 'not-yet-valid':
      return issue(own(), { profile, nowMs: nowMs + 24 * hourMs })
    case 'of-another-authority': {
      const { serviceName: commonName } = apiServerNames(config)
      return issue(createAuthority({ commonName, nowMs, keyKind: 'ec' }), { profile, nowMs })
    }
  }
}

/** Writes the certificate below `folder`; gives the flags with which the component uses it. */
async function writeFaulty(
  { spec }: ManagedComponent,
  { fault, folder, at }: { fault: CertificateFault; folder: string; at: CertificatePlace },
): Promise<string[]> {
  const { config, paths } = at
  const write = async (file: string, text: string): Promise<string> => {
    const path = join(folder, file)
    await writeFileAtomically(path, text, 0o600)
    return path
  }
  if (spec.program === 'node-agent') {
    const made = issueFaulty(clientProfile(nodeSubject(spec.name)), fault, at)
    await write(clientCredentialName, `${made.certificatePem.trimEnd()}\n${made.privateKeyPem}`)
    return [`--cert-dir=${folder}`]
  }
  const name = (spec.program === 'api-server' ? 'apiserver' : spec.program) as CredentialName
  const profile = credentialProfile(name, { apiServer: apiServerNames(config) })
  const made = issueFaulty(profile, fault, at)
  const cert = await write(`${name}.crt`, made.certificatePem)
  const key = await write(`${name}.key`, made.privateKeyPem)
  if (spec.program === 'api-server')
    return [`--tls-cert-file=${cert}`, `--tls-private-key-file=${key}`]
  const kubeconfig = await credentialKubeconfig(name, { config, paths })
  const [own, faulty] = [paths.pki, folder].map((dir) => join(dir, `${name}.`)) as [string, string]
  return [`--kubeconfig=${await write('kubeconfig', kubeconfig.replaceAll(own, faulty))}`]
}

const withCertificates = ['api-server', 'controller-manager', 'scheduler', 'node-agent']

/** Restarts the components with the certificate, and again without it at the end. */
export async function holdCertificate(
  named: Extract<NamedFault, { kind: 'certificate' }>,
  components: readonly ManagedComponent[],
  at: CertificatePlace,
): Promise<ProcessFaultHeld> {
  const other = components.find(({ spec }) => !withCertificates.includes(spec.program))
  if (other !== undefined) throw cannotHold(named, `${other.spec.name} has no certificate of ours`)
  const folderOf = ({ spec }: ManagedComponent): string => join(at.paths.dir, 'faults', spec.name)
  let fired = 0
  const pids = new Map<string, number | undefined>()
  for (const component of components) {
    const folder = folderOf(component)
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    const flags = await writeFaulty(component, { fault: named.fault, folder, at })
    at.components.override(component.spec.name, flags)
    pids.set(component.spec.name, component.status().pid)
    await component.kill()
  }
  const changed = ({ name, pid }: ComponentStatus): void => {
    if (pid === undefined || !pids.has(name) || pids.get(name) === pid) return
    pids.set(name, pid)
    fired += 1
  }
  // Nobody was told of the processes that have started before this function has ended.
  const look = (): void => {
    for (const component of components) changed(component.status())
  }
  return {
    fired: async () => {
      look()
      return fired
    },
    changed,
    end: async () => {
      look()
      pids.clear()
      for (const component of components) {
        at.components.override(component.spec.name, undefined)
        if (component.status().pid !== undefined) await component.kill()
        rmSync(folderOf(component), { recursive: true, force: true })
      }
    },
  }
}
