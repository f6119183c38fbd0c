/** CSR cleaner: removes old certificate signing requests (upstream: certificates/cleaner). */
import { X509Certificate } from 'node:crypto'
import type { CertificateSigningRequest } from '../../api/generated/types.ts'
import { runController, source } from '../../client/controller.ts'
import { isStatusError } from '../../machinery/objects/status-error.ts'
import type { ControllerEntry } from '../controller-context.ts'
import { csrCondition } from './csr-conditions.ts'

const hourMs = 3_600_000
/** Answered requests stay this long after the answer. */
const answeredMs = hourMs
/** Pending requests stay this long. */
const pendingMs = 24 * hourMs

/** When the certificate expires; undefined without a readable certificate. */
function certificateEnd(csr: CertificateSigningRequest): number | undefined {
  const { certificate } = csr.status ?? {}
  if (!certificate) return undefined
  try {
    return Date.parse(new X509Certificate(Buffer.from(certificate, 'base64')).validTo)
  } catch {
    // Other signers may put there what Node cannot read; the time since the answer still counts.
    return undefined
  }
}

/** When the request is to go, in ms; undefined for one that waits for its certificate. */
export function csrDeadline(csr: CertificateSigningRequest): number | undefined {
  const after = (time: string | null | undefined, ms: number): number => Date.parse(time ?? '') + ms
  const answers = (['Denied', 'Failed', 'Approved'] as const).map((type) => csrCondition(csr, type))
  const [denied, failed, approved] = answers
  const deadlines = [denied, failed].flatMap((condition) =>
    condition === undefined ? [] : [after(condition.lastUpdateTime, answeredMs)],
  )
  if (approved !== undefined && csr.status?.certificate) {
    deadlines.push(after(approved.lastUpdateTime, answeredMs))
    deadlines.push(certificateEnd(csr) ?? Number.POSITIVE_INFINITY)
  }
  if ((csr.status?.conditions ?? []).length === 0)
    deadlines.push(after(csr.metadata.creationTimestamp, pendingMs))
  const known = deadlines.filter((ms) => !Number.isNaN(ms))
  return known.length === 0 ? undefined : Math.min(...known)
}

export const csrCleaner: ControllerEntry = {
  name: 'certificatesigningrequest-cleaner-controller',
  aliases: ['csrcleaner'],
  defaultOn: true,
  start: async ({ client, informers, resources, clock, log, queues }, signal) => {
    const requests = client.resource<CertificateSigningRequest>(
      resources.certificateSigningRequests,
    )
    const informer = informers.informer<CertificateSigningRequest>(
      resources.certificateSigningRequests,
    )
    await runController(
      {
        queues,
        name: 'certificatesigningrequest-cleaner-controller',
        informers: [source(informer)],
        reconcile: async (key) => {
          const csr = informer.get(key)
          const deadline = csr === undefined ? undefined : csrDeadline(csr)
          if (deadline === undefined) return undefined
          const leftMs = deadline - clock.now()
          if (leftMs > 0) return { requeueAfterMs: leftMs }
          try {
            await requests.delete({ name: key }, { signal })
            log.info('old certificate signing request deleted', { csr: key })
          } catch (error) {
            if (!isStatusError(error, 'NotFound')) throw error
          }
          return undefined
        },
        clock,
        log,
      },
      signal,
    )
  },
}
