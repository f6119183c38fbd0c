/** ClusterFiles: the certificates and kubeconfigs of an embedded cluster, in its memory. */
import { join } from 'node:path'
import { loadAuthority } from '../certs/authority.ts'
import { pkiTexts } from '../certs/pki-files.ts'
import { createPki, issue } from '../certs/pki.ts'
import type { CredentialName } from '../certs/pki.ts'
import { clientProfile, nodeSubject } from '../certs/profiles.ts'
import { systemClock } from '../components/component-base/clock.ts'
import type { Clock } from '../components/component-base/clock.ts'
import type { MemoryFiles } from '../components/component-base/files.ts'
import {
  clientCredentialFile,
  readNodeCredential,
  writeNodeCredential,
} from '../components/node-agent/join/node-credential.ts'
import { writeNodeKubeconfig } from '../components/node-agent/join/node-identity.ts'
import { serverUrl } from '../cluster/plan/cluster-config.ts'
import type { ClusterConfig } from '../cluster/plan/cluster-config.ts'
import { apiServerNames, credentialKubeconfig } from '../cluster/plan/prepare.ts'
import type { StatePaths } from '../cluster/state/state-dir.ts'
import { signedFor } from './embedded-flags.ts'

/** RFC 5280 (4.1.2.5): no well-defined end. Clients compare certificates with their own clocks, the cluster with its. */
const certificatesEndMs = Date.parse('9999-12-31T23:59:59Z')

export class ClusterFiles {
  readonly #files: MemoryFiles
  readonly #paths: StatePaths
  readonly #clock: Pick<Clock, 'now'>

  /** `clock`: the cluster's. */
  constructor(files: MemoryFiles, paths: StatePaths, clock: Pick<Clock, 'now'>) {
    this.#files = files
    this.#paths = paths
    this.#clock = clock
  }

  /** PEM. */
  pki(name: string): string {
    return this.#files.readNow(join(this.#paths.pki, name))
  }

  get authority() {
    return { certificatePem: this.pki('ca.crt'), privateKeyPem: this.pki('ca.key') }
  }

  /** Certificates of the authorities, PEM. */
  get authorities() {
    return { authority: this.pki('ca.crt'), frontProxyAuthority: this.pki('front-proxy-ca.crt') }
  }

  async writePki(config: ClusterConfig): Promise<void> {
    const pki = createPki({
      apiServer: apiServerNames(config),
      hasStages: config.stages !== undefined,
      nowMs: Math.min(this.#clock.now(), systemClock.now()),
      untilMs: certificatesEndMs,
    })
    for (const [name, text] of pkiTexts(pki))
      await this.#files.write(join(this.#paths.pki, name), text)
  }

  async writeKubeconfig(
    file: { readonly path: string; readonly credential: CredentialName },
    config: ClusterConfig,
  ): Promise<void> {
    const at = { config, paths: this.#paths }
    await this.#files.write(file.path, await credentialKubeconfig(file.credential, at))
  }

  /** The node's identity, as it would have it after a join; one from before stays. */
  async writeNode(nodeName: string, config: ClusterConfig): Promise<void> {
    const rootDir = join(this.#paths.nodes, nodeName)
    const certDir = join(rootDir, 'pki')
    const files = this.#files
    if ((await readNodeCredential(certDir, clientCredentialFile, files)) === undefined) {
      const { certificatePem: cert, privateKeyPem: key } = issue(loadAuthority(this.authority), {
        profile: { ...clientProfile(nodeSubject(nodeName)), ...signedFor(config.extraFlags) },
        nowMs: this.#clock.now(),
      })
      await writeNodeCredential(certDir, clientCredentialFile, { cert, key }, files)
    }
    const place = { nodeName, certDir, kubeconfig: join(rootDir, 'kubeconfig'), files }
    const server = serverUrl(config)
    await writeNodeKubeconfig(place, { server, ca: this.authority.certificatePem })
  }
}
