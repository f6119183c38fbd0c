/** Random objects of every kind: what is compiled for a kind does the same as the plain reading of its schema. */
import { expect, it } from 'vitest'
import { checkObject, kinds } from './objects/check.ts'

it.each(kinds.map((resource) => [`${resource.package}.${resource.kind}`, resource] as const))(
  'a %s is decoded, owned and stored as its schema says',
  (_, resource) => {
    for (let seed = 1; seed <= 300; seed += 1)
      expect(() => checkObject(resource, seed)).not.toThrow()
  },
)
