// Makes the MongoDB of docker-compose.yml a primary and creates the users that are missing. mongosh runs it in each health check,
// within the container: until there is a user, the server lets a client of its own machine do both.
const administrator = {
  user: 'multihub_administrator',
  pwd: require('node:fs').readFileSync('/run/secrets/mongodb-administrator', 'utf8'),
  roles: [{ role: 'userAdminAnyDatabase', db: 'admin' }],
}
const { setName, isWritablePrimary } = db.hello()
if (setName === undefined) rs.initiate({ _id: 'rs', members: [{ _id: 0, host: 'mongodb:27017' }] })
if (!isWritablePrimary) quit(1)
const admin = db.getSiblingDB('admin')
try {
  admin.auth(administrator.user, administrator.pwd)
} catch {
  admin.createUser(administrator)
  admin.auth(administrator.user, administrator.pwd)
}
load('/run/secrets/mongodb-users')
