/** Headers that travel on to another server and back. */
import { expect, it } from 'vitest'
import { forwardable } from '../../../components/api-server/egress/forwardable-headers.ts'

it.each([
  'authorization',
  'connection',
  'content-length',
  'host',
  'http2-settings',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  ':authority',
  'impersonate-user',
  'impersonate-extra-scopes',
  'x-remote-user',
  'x-remote-extra-scopes',
])('%s stays behind', (name) => {
  expect(forwardable({ [name]: 'x', 'x-other': 'y' })).toEqual({ 'x-other': 'y' })
})

it('other headers go on with all their values, except those that the caller leaves out', () => {
  const headers = {
    accept: 'application/json',
    'x-forwarded-for': '192.0.2.1',
    'set-cookie': ['a=b', 'c=d'],
    'sec-websocket-key': 'x',
    absent: undefined,
  }
  const { absent: _, ...present } = headers
  expect(forwardable(headers)).toEqual(present)
  const { 'sec-websocket-key': __, ...others } = present
  expect(forwardable(headers, 'sec-websocket-')).toEqual(others)
})
