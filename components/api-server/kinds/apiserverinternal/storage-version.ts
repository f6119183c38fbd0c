/** StorageVersion (upstream: pkg/apis/apiserverinternal/validation, pkg/registry/apiserverinternal/storageversion). */
import {
  commonVersion,
  type ServerStorageVersion,
  type StorageVersion,
  type StorageVersionCondition,
} from '../../../api/storage-version-status.ts'
import type { FieldPath } from '../../../machinery/validation/field-path.ts'
import { goList } from '../../../machinery/values/go-syntax.ts'
import { label1035, qualifiedName, subdomain } from '../../../machinery/validation/names.ts'
import { restoreAllButStatus } from '../rules/status-update.ts'
import { createValidation, updateValidation, type Change } from '../rules/strategy-checks.ts'
import type { Strategy } from '../strategy.ts'

/** `group.resource`. */
function validateName(name: string, at: FieldPath): void {
  const dot = name.lastIndexOf('.')
  if (dot < 0) {
    at.invalid(name, 'name must be in the form of <group>.<resource>')
    return
  }
  const ofGroup = subdomain(name.slice(0, dot)).map((text) => `the group segment ${text}`)
  const ofResource = label1035(name.slice(dot + 1)).map((text) => `the resource segment ${text}`)
  at.invalidEach(name, [...ofGroup, ...ofResource])
}

const versionForm =
  "an apiVersion is a DNS-1035 label, which must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyVersion')"

/** Why the text is no `version` or `group/version`. */
function versionFaults(text: string): string[] {
  const parts = text.split('/')
  if (parts.length > 2) return [versionForm]
  const version = parts.at(-1) ?? ''
  const group = parts.length === 2 ? (parts[0] ?? '') : undefined
  const ofGroup = group === undefined ? [] : group === '' ? ['must be non-empty'] : subdomain(group)
  const ofVersion = version === '' ? ['must be non-empty'] : label1035(version)
  return [
    ...ofGroup.map((fault) => `group part: ${fault}`),
    ...ofVersion.map((fault) => `version part: ${fault}`),
  ]
}

function validateVersion(text: string, at: FieldPath): void {
  const faults = versionFaults(text)
  if (faults.length > 0) at.invalid(text, faults.join(','))
}

function validateServer(server: ServerStorageVersion, at: FieldPath): void {
  const {
    apiServerID = '',
    encodingVersion = '',
    decodableVersions = [],
    servedVersions = [],
  } = server as Partial<ServerStorageVersion>
  at.child('apiServerID').invalidEach(apiServerID, subdomain(apiServerID))
  validateVersion(encodingVersion, at.child('encodingVersion'))
  const decodableAt = at.child('decodableVersions')
  for (const [i, version] of decodableVersions.entries()) {
    validateVersion(version, decodableAt.index(i))
  }
  if (!decodableVersions.includes(encodingVersion)) {
    decodableAt.invalid(
      goList(decodableVersions),
      `decodableVersions must include encodingVersion ${encodingVersion}`,
    )
  }
  for (const [i, version] of servedVersions.entries()) {
    const servedAt = at.child('servedVersions').index(i)
    validateVersion(version, servedAt)
    if (decodableVersions.includes(version)) continue
    servedAt.invalid(
      version,
      `individual served version : ${version} must be included in decodableVersions : [${decodableVersions.join(' ')}]`,
    )
  }
}

function validateCommon({ status }: StorageVersion, at: FieldPath): void {
  const actual = commonVersion(status?.storageVersions ?? [])
  const said = status?.commonEncodingVersion
  if (actual === said) return
  if (actual !== undefined) {
    const why = said === undefined ? 'the common' : 'the actual common'
    at.invalid(said ?? null, `${why} encoding version is ${actual}`)
  } else {
    at.invalid(
      said,
      'should be nil if servers do not agree on the same encoding version, or if there is no server reporting the supported versions yet',
    )
  }
}

function validateConditions(conditions: readonly StorageVersionCondition[], at: FieldPath): void {
  const seen = new Map<string, number>()
  for (const [i, { type = '', status = '', reason, message }] of (
    conditions as readonly Partial<StorageVersionCondition>[]
  ).entries()) {
    const conditionAt = at.index(i)
    const first = seen.get(type)
    if (first !== undefined) {
      const why = `the type of the condition is not unique, it also appears in conditions[${first}]`
      conditionAt.child('type').invalid(type, why)
    }
    seen.set(type, i)
    conditionAt.child('type').invalidEach(type, qualifiedName(type))
    conditionAt.child('status').invalidEach(type, qualifiedName(status))
    if (!reason) conditionAt.child('reason').required('reason cannot be empty')
    if (!message) conditionAt.child('message').required('message cannot be empty')
  }
}

function validateStatus(object: StorageVersion, root: FieldPath): void {
  const at = root.child('status')
  const { storageVersions = [], conditions = [] } = object.status ?? {}
  for (const [i, server] of storageVersions.entries()) {
    validateServer(server, at.child('storageVersions').index(i))
  }
  validateCommon(object, at.child('commonEncodingVersion'))
  validateConditions(conditions, at)
}

export const storageVersionStrategy: Strategy = {
  nameForm: 'path',
  prepareForCreate(object) {
    object['status'] = {}
  },
  validate: createValidation<StorageVersion>((object, root) => {
    validateName(object.metadata.name ?? '', root.child('metadata').child('name'))
  }),
  subresources: {
    status: {
      prepareForUpdate: restoreAllButStatus,
      validateUpdate: updateValidation<StorageVersion>(
        ({ object }: Change<StorageVersion>, root) => {
          validateStatus(object, root)
        },
      ),
    },
  },
}
