/** What an earlier join left in a node's root directory: a key and certificate, and of which cluster they are. */
import { createHash, X509Certificate } from 'node:crypto'
import { existsSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { connect } from 'node:tls'
import { splitCertificates } from '../../certs/pem.ts'
import { connectionFrom, readKubeconfig } from '../../components/client/kubeconfig.ts'
import type { Clock } from '../../components/component-base/clock.ts'

export interface StoredNode {
  /** `sha256:<hex>` of the public key of each CA that the node trusts. */
  readonly pins: readonly string[]
  readonly caPem: string
}

const certFolder = (rootDir: string): string => join(rootDir, 'pki')
const kubeconfigOf = (rootDir: string): string => join(rootDir, 'kubeconfig')

function pinOf(certificatePem: string): string {
  const key = new X509Certificate(certificatePem).publicKey.export({ type: 'spki', format: 'der' })
  return `sha256:${createHash('sha256').update(key).digest('hex')}`
}

/** Whether there is a certificate from an earlier join. Whether it is still good is for the agent to find out. */
export function hasCertificate(rootDir: string): boolean {
  const folder = certFolder(rootDir)
  return existsSync(folder) && readdirSync(folder).some((file) => file.endsWith('.pem'))
}

/** Undefined when the node has not joined, or its files are damaged: the agent joins again then. */
export async function readStoredNode(rootDir: string): Promise<StoredNode | undefined> {
  if (!hasCertificate(rootDir)) return undefined
  try {
    const { ca } = await connectionFrom(await readKubeconfig(kubeconfigOf(rootDir)))
    const caPem = ca?.toString() ?? ''
    const pins = splitCertificates(caPem).map(pinOf)
    return pins.length === 0 ? undefined : { pins, caPem }
  } catch {
    return undefined
  }
}

/** Puts the key, the certificate and the client configuration aside; returns where they are. Those set aside before are removed. */
export function setStoredNodeAside(rootDir: string): string {
  const aside = `${certFolder(rootDir)}.former`
  rmSync(aside, { recursive: true, force: true })
  renameSync(certFolder(rootDir), aside)
  const kubeconfig = kubeconfigOf(rootDir)
  if (existsSync(kubeconfig)) renameSync(kubeconfig, join(aside, 'kubeconfig'))
  return aside
}

const patienceMs = 4000

/** Resolves with false when a server answers there whose certificate is not of that CA. One that cannot be reached says nothing. */
export function isServerOf(server: string, caPem: string, clock: Clock): Promise<boolean> {
  const { hostname, port } = new URL(server)
  return new Promise((resolve) => {
    const host = hostname.replace(/^\[|\]$/g, '')
    // Who it is shows in `authorizationError`; names and times are for the agent to judge.
    const socket = connect({
      host,
      port: Number(port === '' ? 443 : port),
      ca: caPem,
      rejectUnauthorized: false,
    })
    const cancel = clock.after(patienceMs, () => settle(true))
    const settle = (isOurs: boolean): void => {
      cancel()
      socket.destroy()
      resolve(isOurs)
    }
    socket.once('secureConnect', () => {
      const code = String(socket.authorizationError ?? '')
      settle(!/ISSUER|SELF_SIGNED|VERIFY_LEAF|SIGNATURE/.test(code))
    })
    socket.on('error', () => settle(true))
  })
}
