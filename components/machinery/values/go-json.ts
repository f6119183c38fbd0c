/** JSON as Go’s encoder writes it: characters that HTML and JavaScript could misread are escaped. Pure. */

const misread = /[<>&\u2028\u2029]/g

export function goJson(value: unknown): string {
  return JSON.stringify(value).replaceAll(
    misread,
    (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
