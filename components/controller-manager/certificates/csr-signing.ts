/** CSR signing: certificates for approved requests of the built-in signers (upstream: certificates/signer). */
import type { CertificateSigningRequest } from '../../api/generated/types.ts'
import { runController, source, TerminalError } from '../../client/controller.ts'
import { timestamp } from '../../component-base/clock.ts'
import { diskFiles } from '../../component-base/files.ts'
import type { Files } from '../../component-base/files.ts'
import { StartError } from '../../component-base/component.ts'
import { loadAuthority, sign } from '../../../certs/authority.ts'
import type { Authority } from '../../../certs/authority.ts'
import { parseCertificateRequest, type CertificateRequest } from '../../../certs/csr.ts'
import { isKeyUsage } from '../../../certs/usages.ts'
import type { ControllerEntry } from '../controller-context.ts'
import type { ControllerManagerOptions } from '../options.ts'
import { awaitsCertificate, readRequest, withCsrCondition } from './csr-conditions.ts'
import { signerFault, signerNames, signerOf } from './signer-rules.ts'
import type { SignerName } from './signer-rules.ts'

const backdateMs = 5 * 60_000
const shortestMs = 10 * 60_000
/** Below this, the five minutes before signing do not count against the lifetime. */
const shortMs = 8 * 3_600_000

/** How long a certificate lives from its signing on: what was asked for, within bounds. */
export function lifetimeMs(expirationSeconds: number | undefined, longestMs: number): number {
  const wantedMs = expirationSeconds === undefined ? longestMs : expirationSeconds * 1000
  const grantedMs = Math.min(longestMs, Math.max(shortestMs, wantedMs))
  return grantedMs < shortMs ? grantedMs : grantedMs - backdateMs
}

/** Files of a signer's authority: its own pair, or the one of all. */
function filesOf(signer: SignerName, options: ControllerManagerOptions) {
  const own = {
    'kube-apiserver-client': 'cluster-signing-kube-apiserver-client',
    'kube-apiserver-client-kubelet': 'cluster-signing-kubelet-client',
    'kubelet-serving': 'cluster-signing-kubelet-serving',
    'legacy-unknown': 'cluster-signing-legacy-unknown',
  } as const
  const stem = own[signer]
  return {
    cert: options[`${stem}-cert-file`] ?? options['cluster-signing-cert-file'],
    key: options[`${stem}-key-file`] ?? options['cluster-signing-key-file'],
  }
}

/** The authorities of all signers that have one. Rejects with a StartError for files that do not fit. */
export async function loadSigners(
  options: ControllerManagerOptions,
  files: Files = diskFiles,
): Promise<ReadonlyMap<SignerName, Authority>> {
  const signers = new Map<SignerName, Authority>()
  const loaded = new Map<string, Authority>()
  for (const signer of signerNames) {
    const { cert, key } = filesOf(signer, options)
    if (cert === undefined || key === undefined) continue
    try {
      const authority =
        loaded.get(`${cert}|${key}`) ??
        loadAuthority({
          certificatePem: await files.read(cert),
          privateKeyPem: await files.read(key),
        })
      loaded.set(`${cert}|${key}`, authority)
      signers.set(signer, authority)
    } catch (error) {
      throw new StartError(`cannot use ${cert} and ${key} to sign certificates`, error)
    }
  }
  return signers
}

function certificateFor(
  csr: CertificateSigningRequest,
  options: {
    request: CertificateRequest
    authority: Authority
    longestMs: number
    nowMs: number
  },
): string {
  const { request, authority, longestMs, nowMs } = options
  const { subject, dnsNames, ipAddresses, emailAddresses, uris, publicKey } = request
  const usages = csr.spec.usages ?? []
  const unknown = usages.find((usage) => !isKeyUsage(usage))
  if (unknown !== undefined) throw new TerminalError(`unrecognized usage: ${unknown}`)
  return sign(authority, {
    profile: {
      subject,
      dnsNames,
      ipAddresses,
      emailAddresses,
      uris,
      usages: usages.filter(isKeyUsage),
      lifetimeMs: lifetimeMs(csr.spec.expirationSeconds, longestMs),
    },
    publicKey,
    nowMs,
  })
}

export const csrSigning: ControllerEntry = {
  name: 'certificatesigningrequest-signing-controller',
  aliases: ['csrsigning'],
  defaultOn: true,
  start: async (context, signal) => {
    const { client, informers, dialect, resources, clock, log, queues, options } = context
    const requests = client.resource<CertificateSigningRequest>(
      resources.certificateSigningRequests,
    )
    const informer = informers.informer<CertificateSigningRequest>(
      resources.certificateSigningRequests,
    )
    const signers = await loadSigners(options, context.files)
    if (signers.size === 0) {
      log.warn('no authority to sign certificates with: --cluster-signing-cert-file is not set')
      return
    }
    await runController(
      {
        queues,
        name: 'certificatesigningrequest-signing-controller',
        informers: [source(informer)],
        reconcile: async (key) => {
          const csr = informer.get(key)
          if (csr === undefined || !awaitsCertificate(csr)) return
          const signer = signerOf(dialect, csr.spec.signerName)
          const authority = signer === undefined ? undefined : signers.get(signer)
          if (signer === undefined || authority === undefined) return
          const request = readRequest(csr, parseCertificateRequest)
          const fault = signerFault(signer, request, csr.spec.usages ?? [])
          const nowMs = clock.now()
          if (fault !== undefined) {
            const failed = withCsrCondition(csr, {
              type: 'Failed',
              reason: 'SignerValidationFailure',
              message: fault,
              now: timestamp(nowMs),
            })
            await requests.updateStatus(failed, { signal })
            log.warn('certificate signing request refused', { csr: key, why: fault })
            return
          }
          const longestMs = options['cluster-signing-duration']
          const pem = certificateFor(csr, { request, authority, longestMs, nowMs })
          const certificate = Buffer.from(pem).toString('base64')
          await requests.updateStatus(
            { ...csr, status: { ...csr.status, certificate } },
            { signal },
          )
          log.info('certificate signed', { csr: key, signer: csr.spec.signerName })
        },
        workers: 5,
        clock,
        log,
      },
      signal,
    )
  },
}
