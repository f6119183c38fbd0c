/** CertificateRequest: a new key, a CertificateSigningRequest for it, and the certificate once it is approved and signed. */
import { createCertificateRequest } from '../../../certs/csr.ts'
import { generateKeyPair, privateKeyPem } from '../../../certs/keys.ts'
import type { Subject } from '../../../certs/subject.ts'
import type { CertificateSigningRequest } from '../../api/generated/types.ts'
import type { ResourceClient } from '../../client/resource-client.ts'
import type { Clock } from '../../component-base/clock.ts'
import type { Log } from '../../component-base/log.ts'
import { isStatusError, StatusError } from '../../machinery/objects/status-error.ts'

export interface IssuedCertificate {
  readonly cert: string
  readonly key: string
}

/** The state of a request. */
export type RequestState =
  | { readonly kind: 'issued'; readonly certificatePem: string }
  | { readonly kind: 'waiting'; readonly for: 'approval' | 'certificate' }
  | { readonly kind: 'refused'; readonly reason: string }

/** Reads the state from the request's conditions. Pure. */
export function requestState(request: CertificateSigningRequest): RequestState {
  const conditions = request.status?.conditions ?? []
  const refused = conditions.find(({ type }) => type === 'Denied' || type === 'Failed')
  if (refused !== undefined) {
    const { type, reason, message } = refused
    const why = [reason, message].filter((text) => text !== undefined && text !== '').join(': ')
    return { kind: 'refused', reason: `${type}${why === '' ? '' : ` (${why})`}` }
  }
  const certificate = request.status?.certificate
  if (certificate) {
    return { kind: 'issued', certificatePem: Buffer.from(certificate, 'base64').toString() }
  }
  const isApproved = conditions.some(({ type }) => type === 'Approved')
  return { kind: 'waiting', for: isApproved ? 'certificate' : 'approval' }
}

/** The request was denied or failed, or vanished before it was signed. */
export class RequestRefusedError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'RequestRefusedError'
  }
}

export interface CertificateWish {
  readonly signerName: string
  readonly subject: Subject
  readonly usages: readonly string[]
  readonly dnsNames?: readonly string[]
  readonly ipAddresses?: readonly string[]
}

const watchSeconds = 300
const retryMs = 1000

/** Waits from the request's state in `first` on; without it, from the server's. */
async function waitForOutcome(
  options: RequestOptions,
  {
    name,
    first,
  }: { readonly name: string; readonly first?: CertificateSigningRequest | undefined },
  signal: AbortSignal,
): Promise<string> {
  const { csrs, onProgress } = options
  const settled = (request: CertificateSigningRequest): string | undefined => {
    const state = requestState(request)
    if (state.kind === 'refused') throw new RequestRefusedError(state.reason)
    if (state.kind === 'issued') return state.certificatePem
    onProgress?.(state, name)
    return undefined
  }
  let current = first ?? (await csrs.get({ name }, { signal }))
  for (;;) {
    const issued = settled(current)
    if (issued !== undefined) return issued
    const events = csrs.watch(
      {
        fieldSelector: `metadata.name=${name}`,
        resourceVersion: current.metadata.resourceVersion ?? '0',
        timeoutSeconds: watchSeconds,
      },
      signal,
    )
    for await (const { type, object } of events) {
      if (type === 'BOOKMARK') continue
      if (type === 'DELETED') {
        throw new RequestRefusedError(`the request ${name} was deleted before it was signed`)
      }
      const certificate = settled(object)
      if (certificate !== undefined) return certificate
    }
    current = await csrs.get({ name }, { signal })
  }
}

export interface RequestOptions {
  readonly csrs: ResourceClient<CertificateSigningRequest>
  readonly wish: CertificateWish
  readonly clock: Clock
  readonly log: Log
  /** Called when the request exists and waits, with what it waits for. */
  readonly onProgress?: (state: RequestState, name: string) => void
}

/**
 * Requests a certificate for a key made here, which never leaves the process but to the caller. Waits as long as it takes;
 * a lost connection is taken up again. Rejects with RequestRefusedError, or with the server's StatusError on creation.
 */
export async function requestCertificate(
  options: RequestOptions,
  signal: AbortSignal,
): Promise<IssuedCertificate> {
  const { csrs, wish, clock, log } = options
  const keys = generateKeyPair('ec')
  const request = createCertificateRequest(keys, {
    subject: wish.subject,
    dnsNames: wish.dnsNames ?? [],
    ipAddresses: wish.ipAddresses ?? [],
  })
  const created = await csrs.create(
    {
      metadata: { generateName: 'csr-' },
      spec: {
        request: Buffer.from(request).toString('base64'),
        signerName: wish.signerName,
        usages: [...wish.usages],
      },
    },
    { signal },
  )
  const name = created.metadata.name ?? ''
  log.info('certificate requested', { request: name, signer: wish.signerName })
  let first: CertificateSigningRequest | undefined = created
  for (;;) {
    try {
      const cert = await waitForOutcome(options, { name, first }, signal)
      return { cert, key: privateKeyPem(keys.privateKey) }
    } catch (error) {
      signal.throwIfAborted()
      first = undefined
      if (error instanceof RequestRefusedError) throw error
      if (isStatusError(error, 'NotFound')) {
        throw new RequestRefusedError(`the request ${name} was deleted before it was signed`)
      }
      // Losing sight of the request is not losing it.
      const isServerTrouble = !(error instanceof StatusError) || error.code >= 410
      if (!isServerTrouble) throw error
      log.warn('watching the certificate request failed; it is watched again', {
        request: name,
        error: String(error),
      })
      await clock.sleep(retryMs, signal)
    }
  }
}
