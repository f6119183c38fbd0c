/** The paths of OpenAPI that serve no resource: discovery, the version, and the token issuer's documents. */
import { findSchema } from '../../api/schemas.ts'
import type { Dialect } from '../../api/dialect.ts'
import type { StructSchema } from '../../machinery/schema/schema.ts'
import { type JsonObject, reference } from './definitions.ts'
import type { GroupVersion } from './group-version.ts'
import { capital, definitionName, operationGroup, scalarDefinitionName, tagOf } from './names.ts'

interface Document {
  readonly path: string
  readonly id: string
  readonly tag: string
  readonly description: string
  /** The schema name of what it answers; `version` and `text` have none in the tables. */
  readonly answer: string
}

const available = 'get available API versions'

function documentsOf(dialect: Dialect, all: readonly GroupVersion[]): Document[] {
  const groups = [...new Set(all.map(({ group }) => group))].filter((group) => group !== '')
  return [
    {
      path: '/api/',
      id: 'getCoreAPIVersions',
      tag: 'core',
      description: available,
      answer: 'meta/v1.APIVersions',
    },
    {
      path: '/apis/',
      id: 'getAPIVersions',
      tag: 'apis',
      description: available,
      answer: 'meta/v1.APIGroupList',
    },
    ...groups.map((group) => ({
      path: `/apis/${group}/`,
      id: `get${capital(tagOf(dialect, group))}APIGroup`,
      tag: tagOf(dialect, group),
      description: 'get information of a group',
      answer: 'meta/v1.APIGroup',
    })),
    ...all.map(({ group, version }) => ({
      path: group === '' ? `/api/${version}/` : `/apis/${group}/${version}/`,
      id: `get${operationGroup(dialect, group, version)}APIResources`,
      tag: tagOf(dialect, group, version),
      description: 'get available resources',
      answer: 'meta/v1.APIResourceList',
    })),
    {
      path: '/version/',
      id: 'getCodeVersion',
      tag: 'version',
      description: 'get the version information for this server',
      answer: 'version',
    },
    {
      path: '/.well-known/openid-configuration/',
      id: 'getServiceAccountIssuerOpenIDConfiguration',
      tag: 'WellKnown',
      description:
        'get service account issuer OpenID configuration, also known as the OIDC discovery doc',
      answer: 'text',
    },
    {
      path: '/openid/v1/jwks/',
      id: 'getServiceAccountIssuerOpenIDKeyset',
      tag: 'openid',
      description:
        'get service account issuer OpenID JSON Web Key Set (contains public token verification keys)',
      answer: 'text',
    },
  ]
}

/** The structs these paths answer, as roots of definitions. */
export function discoveryStructs(): StructSchema[] {
  return ['APIVersions', 'APIGroupList', 'APIGroup', 'APIResourceList'].flatMap(
    (name) => findSchema(`meta/v1.${name}`) ?? [],
  )
}

const versionFields = [
  'major',
  'minor',
  'gitVersion',
  'gitCommit',
  'gitTreeState',
  'buildDate',
  'goVersion',
  'compiler',
  'platform',
]

/** The definition of what `/version` answers. */
export function versionDefinition(dialect: Dialect): Record<string, JsonObject> {
  return {
    [scalarDefinitionName(dialect, 'Info')]: {
      description: 'Info contains versioning information.',
      type: 'object',
      required: versionFields,
      properties: Object.fromEntries(versionFields.map((name) => [name, { type: 'string' }])),
    },
  }
}

/** Version 2's path items by path. */
export function discoveryPaths(dialect: Dialect, all: readonly GroupVersion[]): JsonObject {
  const schemaOf = (answer: string): JsonObject => {
    if (answer === 'text') return { type: 'string' }
    if (answer === 'version') return reference(2, scalarDefinitionName(dialect, 'Info'))
    return reference(2, definitionName(dialect, answer))
  }
  const types = ['application/json', 'application/yaml', dialect.protobufMediaType]
  const items = documentsOf(dialect, all).map(({ path, id, tag, description, answer }) => {
    const isPlain = answer === 'text' || answer === 'version'
    const get = {
      description,
      consumes: isPlain ? ['application/json'] : types,
      produces: isPlain ? ['application/json'] : types,
      schemes: ['https'],
      tags: [tag],
      operationId: id,
      responses: {
        200: { description: 'OK', schema: schemaOf(answer) },
        401: { description: 'Unauthorized' },
      },
    }
    return [path, { get }] as const
  })
  return Object.fromEntries(items)
}
