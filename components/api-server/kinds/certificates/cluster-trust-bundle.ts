/** ClusterTrustBundle (upstream: pkg/apis/certificates). Off by default. */
import type { FieldPath } from '../../../machinery/validation/field-path.ts'
import { subdomain } from '../../../machinery/validation/names.ts'
import type { KubeObject } from '../../../machinery/objects/object.ts'
import type { Strategy } from '../strategy.ts'
import { validateImmutable } from '../rules/field-rules.ts'
import { createValidation, updateValidation, type Change } from '../rules/strategy-checks.ts'
import { decodePem, type PemBlock } from '../../../../certs/pem.ts'
import { parseCertificate } from '../../x509/pem.ts'
import { validateSignerName } from './signer-name.ts'

const maxBundleBytes = 1024 * 1024
const omitted = '<value omitted>'

interface BundleSpec {
  readonly signerName?: string
  readonly trustBundle?: string
}

function specOf(object: KubeObject): BundleSpec {
  return (object['spec'] ?? {}) as BundleSpec
}

/** A bundle of a signer is named after it, with colons for slashes. */
function nameFaults(name: string, signerName: string): readonly string[] {
  if (signerName === '') {
    if (!name.includes(':')) return subdomain(name)
    return ['ClusterTrustBundle without signer name must not have ":" in its name']
  }
  const prefix = `${signerName.replaceAll('/', ':')}:`
  if (name.startsWith(prefix)) return subdomain(name.slice(prefix.length))
  return [`ClusterTrustBundle for signerName ${signerName} must be named with prefix ${prefix}`]
}

function entryFault(block: PemBlock, i: number): string | undefined {
  if (block.label !== 'CERTIFICATE') return `entry ${i} has bad block type: ${block.label}`
  if (block.hasHeaders) return `entry ${i} has PEM block headers`
  const certificate = parseCertificate(block.der)
  if (certificate === undefined) return `entry ${i} does not parse as X.509`
  return certificate.ca ? undefined : `entry ${i} does not have the CA bit set`
}

function validateBundle(bundle: string, at: FieldPath): void {
  if (Buffer.byteLength(bundle) > maxBundleBytes) {
    at.tooLong(maxBundleBytes)
    return
  }
  const blocks = decodePem(bundle)
  const faults = blocks.map(entryFault).filter((fault) => fault !== undefined)
  if (faults.length > 0) {
    for (const fault of faults) at.invalid(omitted, fault)
    return
  }
  if (blocks.length === 0) at.invalid(omitted, 'at least one trust anchor must be provided')
  const anchors = new Map<string, number[]>()
  for (const [i, { der }] of blocks.entries()) {
    const key = der.toString('base64')
    anchors.set(key, [...(anchors.get(key) ?? []), i])
  }
  for (const indices of anchors.values()) {
    if (indices.length < 2) continue
    at.invalid(omitted, `duplicate trust anchor (indices [${indices.join(' ')}])`)
  }
}

function validateState(object: KubeObject, old: KubeObject | undefined, root: FieldPath): void {
  const { signerName = '', trustBundle = '' } = specOf(object)
  const { name = '' } = object.metadata
  root.child('metadata').child('name').invalidEach(name, nameFaults(name, signerName))
  const signerAt = root.child('spec').child('signerName')
  if (signerName !== '') validateSignerName(signerName, signerAt)
  const isChanged = old === undefined || specOf(old).trustBundle !== trustBundle
  if (isChanged) validateBundle(trustBundle, root.child('spec').child('trustBundle'))
  if (old !== undefined) {
    validateImmutable({ now: signerName, before: specOf(old).signerName ?? '' }, signerAt)
  }
}

export const clusterTrustBundleStrategy: Strategy = {
  nameForm: 'path',
  allowUnconditionalUpdate: false,
  validate: createValidation((object: KubeObject, root) => {
    validateState(object, undefined, root)
  }),
  validateUpdate: updateValidation(({ object, old }: Change<KubeObject>, root) => {
    validateState(object, old, root)
  }),
}
