import { expect, it } from 'vitest'
import { changed, changesOf } from '../../../explore/values/schema-values.ts'
import type { ValueSchema } from '../../../explore/values/schema-values.ts'

const schema: ValueSchema = {
  type: 'object',
  required: ['size'],
  properties: {
    size: { type: 'integer', minimum: 1, maximum: 5 },
    policy: { type: 'string', enum: ['lru', 'fifo'], default: 'lru' },
    labels: { type: 'object', additionalProperties: { type: 'string', maxLength: 4 } },
    ports: { type: 'array', maxItems: 2, items: { type: 'integer', minimum: 80 } },
    host: { type: 'string', pattern: '^[a-z]+$' },
    tls: { type: 'object', properties: { on: { type: 'boolean' } } },
  },
}

it('goes to the bounds, through enums, and makes maps and lists grow and shrink', () => {
  const spec = { size: 2, labels: { team: 'a' }, ports: [80, 81], tls: { on: true } }
  const made = changesOf(schema, spec).map(
    ({ path, value, why }) => `${path.join('.')}: ${JSON.stringify(value)} (${why})`,
  )
  expect(made).toEqual([
    'size: 1 (minimum)',
    'size: 5 (maximum)',
    'policy: "lru" (enum lru)',
    'policy: "fifo" (enum fifo)',
    'labels: {"team":"a","added":"a"} (one key more)',
    'labels: {} (one key less)',
    'labels: undefined (removed)',
    'ports: [80] (one item less)',
    'ports: undefined (removed)',
    'tls.on: false (false)',
    'tls.on: undefined (removed)',
    'tls: undefined (removed)',
  ])
})

it('changes one field and leaves the others', () => {
  const spec = { size: 2, tls: { on: true, port: 1 } }
  expect(changed(spec, { path: ['tls', 'on'], value: false, why: '' })).toEqual({
    size: 2,
    tls: { on: false, port: 1 },
  })
  expect(changed(spec, { path: ['tls'], value: undefined, why: '' })).toEqual({ size: 2 })
})
