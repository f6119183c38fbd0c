/** Backends file: the API servers, one `HOST:PORT` a line. */
import { formatEndpoint, parseEndpoint } from './endpoint.ts'
import type { Endpoint } from './endpoint.ts'

const mostBackends = 100

/** The endpoints in order, each once. Throws an Error that names the first bad line; also when there is no endpoint. */
export function parseBackends(text: string): Endpoint[] {
  const found = new Map<string, Endpoint>()
  for (const [index, line] of text.split('\n').entries()) {
    const word = line.replace(/#.*/, '').trim()
    if (word === '') continue
    const endpoint = parseEndpoint(word)
    if (endpoint === undefined || endpoint.port === 0) {
      throw new Error(`line ${index + 1}: "${word.slice(0, 100)}" is not HOST:PORT`)
    }
    found.set(formatEndpoint(endpoint), endpoint)
  }
  if (found.size === 0) throw new Error('there is no backend: write one HOST:PORT a line')
  if (found.size > mostBackends) {
    throw new Error(`there are ${found.size} backends: at most ${mostBackends} are allowed`)
  }
  return [...found.values()]
}
