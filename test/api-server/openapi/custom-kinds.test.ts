/**
 * Custom kinds that upstream's builder of release 1.32 was given, too: what it published of each is in
 * test/cases/openapi/custom-kinds.json.
 */
import { readFileSync } from 'node:fs'
import { beforeAll, describe, expect, test } from 'vitest'
import { definitionsPath, whenTrue } from '../../support/custom-definitions.ts'
import { sharedServer } from '../../support/shared-server.ts'

type Json = any

interface Case {
  readonly title: string
  readonly definition: { readonly metadata: { readonly name: string } }
  /** Definitions by name. */
  readonly v2: Record<string, Json>
  readonly v3: Record<string, Json>
}

const cases = JSON.parse(
  readFileSync(new URL('../../cases/openapi/custom-kinds.json', import.meta.url), 'utf8'),
) as Case[]

describe('a custom kind is published as upstream publishes it', () => {
  const server = sharedServer()
  let v2: Record<string, Json>
  let v3: Record<string, Json>

  beforeAll(async () => {
    for (const { definition } of cases) {
      await server().ok('POST', definitionsPath(server()), { body: definition })
    }
    for (const { definition } of cases) {
      await whenTrue(server(), definition.metadata.name, 'Established')
    }
    v2 = (await server().ok('GET', '/openapi/v2')).definitions
    v3 = (await server().ok('GET', '/openapi/v3/apis/cases.example.com/v1')).components.schemas
  })

  test.each(cases)('$title', (expected) => {
    for (const [name, definition] of Object.entries(expected.v2)) {
      expect(v2[name], `${name} in version 2`).toEqual(definition)
    }
    for (const [name, definition] of Object.entries(expected.v3)) {
      expect(v3[name], `${name} in version 3`).toEqual(definition)
    }
  })
})
