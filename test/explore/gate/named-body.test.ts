/** Names in bodies, as the clients of Go and of other languages send them. */
import { expect, it } from 'vitest'
import {
  protobufMessage,
  protobufPart,
} from '../../../components/component-base/grpc/protobuf-fields.ts'
import { namedBody } from '../../../explore/gate/named-body.ts'

/** An object as client-go encodes it: `name` and `generateName` are the fields 1 and 2 of its metadata, `data` its field 2. */
function encoded(name: string, generateName: string): Buffer {
  const object = protobufPart(
    [1, protobufPart([1, name], [2, generateName], [3, 'shop'])],
    [2, protobufPart([1, 'key'], [2, 'value'])],
  )
  const kind = protobufPart([1, 'v1'], [2, 'Secret'])
  return Buffer.concat([Buffer.from('k8s\0'), protobufMessage([1, kind], [2, object])])
}

it.each([
  [encoded('web', ''), { name: 'web', generateName: '' }],
  [encoded('', 'web-'), { name: '', generateName: 'web-' }],
  [Buffer.from('{"metadata":{"name":"web"}}'), { name: 'web' }],
])('the name of an object is found in %s', (body, metadata) => {
  expect(namedBody(body)?.metadata).toEqual(metadata)
})

it.each([
  ['', undefined],
  ['metadata: {}', undefined],
  ['k8s\0\xff\xff', undefined],
] as const)('a body that names nothing, or cannot be read, has no name: %j', (text, named) => {
  expect(namedBody(Buffer.from(text, 'latin1'))).toBe(named)
})
