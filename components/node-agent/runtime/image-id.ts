/** Image id: what a simulated container says that its image is: the same for the same name. */
import { createHash } from 'node:crypto'

export function imageIdOf(image: string): string {
  const repository = image.replace(/(@sha256:.*|:[^/:]*)$/, '')
  return `${repository}@sha256:${createHash('sha256').update(image).digest('hex')}`
}
