/** When an image is pulled, if the Pod does not say. */

/** Always for the tag `latest`, which an image without tag and digest has; else IfNotPresent. */
export function defaultPullPolicy(image: string): 'Always' | 'IfNotPresent' {
  const at = image.indexOf('@')
  const name = at < 0 ? image : image.slice(0, at)
  const afterPath = name.slice(name.lastIndexOf('/') + 1)
  const colon = afterPath.indexOf(':')
  const tag = colon < 0 ? (at < 0 ? 'latest' : '') : afterPath.slice(colon + 1)
  return tag === 'latest' ? 'Always' : 'IfNotPresent'
}
