/** User names of Windows containers: `user` or `domain\user`. */

const maxDomainLength = 256
const maxUserLength = 104

// oxlint-disable-next-line no-control-regex -- control characters are what is refused
const controlCharacters = /[\x00-\x1f\x7f]/
const netBiosDomain = /^[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}$/
const dnsLabel = '[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?'
const dnsDomain = new RegExp(`^${dnsLabel}(?:\\.${dnsLabel})*$`)
const onlyDotsAndSpaces = /^[. ]+$/
const refusedSigns = /["/\\:;|=,+*?<>@[\]]/

/** What is wrong with the name; several faults of its parts can come together. */
export function userNameFaults(name: string): string[] {
  if (name === '') return ['runAsUserName cannot be an empty string']
  if (controlCharacters.test(name)) return ['runAsUserName cannot contain control characters']
  const parts = name.split('\\')
  if (parts.length > 2) return ['runAsUserName cannot contain more than one backslash']
  const domain = parts.length === 2 ? (parts[0] ?? '') : undefined
  const user = parts.at(-1) ?? ''
  const faults: string[] = []
  if (domain !== undefined) {
    if (domain.length >= maxDomainLength) {
      faults.push(`runAsUserName's Domain length must be under ${maxDomainLength} characters`)
    }
    if (!netBiosDomain.test(domain) && !dnsDomain.test(domain)) {
      faults.push("runAsUserName's Domain doesn't match the NetBios nor the DNS format")
    }
  }
  if (user === '') faults.push("runAsUserName's User cannot be empty")
  else if (user.length > maxUserLength) {
    faults.push(`runAsUserName's User length must not be longer than ${maxUserLength} characters`)
  }
  if (onlyDotsAndSpaces.test(user)) {
    faults.push("runAsUserName's User cannot contain only periods or spaces")
  }
  if (refusedSigns.test(user)) {
    faults.push(`runAsUserName's User cannot contain the following characters: "/\\:;|=,+*?<>@[]`)
  }
  return faults
}
